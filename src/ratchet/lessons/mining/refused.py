"""Wordings that a remedy must not hold, wherever they stand in it: tables for `ratchet.lessons.mining.checks`."""

from __future__ import annotations

import re

from ratchet.failures.gated import Gated


def _rule(reason: str, alternatives: str, flags: str = "im") -> tuple[str, Gated]:
    """One reason and its wordings, a regular expression a line; each is anchored on a literal and bounded, so that the
    scan stays linear."""
    lines = [line.strip() for line in alternatives.splitlines() if line.strip()]
    return reason, Gated(f"(?{flags})" + "|".join(lines))


TEXTS = (
    _rule(
        "speaks to the agent",
        r"""
        \b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|your|system|these)\b.{0,20}\b(?:instruction|prompt|rule|guideline|direction)
        \byou are now\b
        \bnew instructions?\s*:
        \bsystem prompt\b
        </?(?:system|assistant|user|human|instructions?|system-reminder)\b
        \[/?INST\]
        <\|im_(?:start|end)
        \b(?:do not|don't|never) (?:tell|inform|mention|ask|alert)\b.{0,20}\buser\b
        \bwithout (?:telling|asking|informing) the user\b
        ^\s*(?:system|assistant|human)\s*:
        """,
    ),
    _rule(
        "skips the hooks",
        r"""
        --no-veri(?:f|fy)?\b
        \bhusky_skip
        \b(?:husky|lefthook)=0
        \bovercommit_disable=
        core\.hookspath
        \b(?:pre-commit|husky|lefthook|overcommit)\s+uninstall\b
        \b(?:rm|mv|chmod|unlink|truncate)\b[^\n;|&]{0,80}\.(?:git/hooks|husky|pre-commit-config)
        """,
    ),
    _rule(
        "hides the failure",
        r"""
        \|\|\s*(?:true|:|/bin/true|exit 0|return 0|echo\b|printf\b)
        ;\s*(?:true|exit 0|:)\s*(?:$|[)\"'`;&|])
        \bset \+[a-z]*e[a-z]*\b
        failure\.ignore
        \baddopts=
        \bset \+o (?:errexit|pipefail)
        --exit-zero\b
        --(?:ignore|mute)-exit-status
        --passwithnotests
        \bcontinue-on-error\b
        \ballow_failure\b
        --(?:warn-only|soft-fail|no-fail\w*|no-error-on\w*|ignore-errors?)\b
        --exit-code[= ]0\b
        \btrap\s+(?:''|\"\")
        \bexcept\b[^\n:]{0,60}:\s{0,20}pass\b
        \.catch\(\(\)\s*=>\s*(?:\{\}|null)\)
        \brescue\s+nil\b
        2>&-
        """,
    ),
    _rule(
        "silences a checker",
        r"""
        \bno(?:qa|lint|sec|sonar|semgrep|inspection|warn|check)\b
        \b(?!check-)[a-z]\w*[-:](?:ignore|disable|skip|suppress|expect-error)(?:-next|-for|-line|-file|(?![\w-]))
        \bsobelow_skip
        (?:[#*;]|//|--)\s*[a-z][\w-]*:\s*(?:ignore|disable|skip|suppress|allow|off\b)
        \btype:\s*ignore
        \b(?:istanbul|c8|v8|hadolint) ignore
        \b(?:shellcheck|warning|lint\w*) disable
        pyright:\s*basic
        @suppress
        #!?\[allow\(
        pragma:\s*no cover
        @dialyzer\b
        clang-format off
        """,
    ),
    _rule(
        "weakens a check in the configuration",
        r"""
        \bignore_missing_imports\b
        \bignore_errors\b
        \bskiplibcheck\b
        \bstrict[\"']?\s*[:=]\s*false
        noimplicitany[\"']?\s*:\s*false
        \bignore(?:build|during)\w*[\"']?\s*:\s*true
        \bfail_under\s*=\s*0\b
        --cov-fail-under[= ]0\b
        [\"']off[\"']
        \bcoveragethreshold\b
        \bwarnings_as_errors:\s*false
        -wno-\w
        --cap-lints\b
        """,
    ),
    _rule(
        "skips tests",
        r"""
        \bmark\.(?:skip|xfail)
        \bunittest\.skip
        \bskiptest\(
        \bpytest\.skip\(
        \bx(?:it|describe|test|context|specify)\(
        \bf(?:it|describe)\(
        \.(?:skip|todo|only)\(
        \bt\.skip\w*\(
        @(?:ignore|disabled)\b
        #\[ignore
        @(?:module|describe)?tag\s*:?\s*skip
        \bskip:\s*true
        -dskiptests
        \bmaven\.test\.skip
        -d\w+\.skip(?:tests?)?\b
        --(?:skip|no|exclude)-?tests?\b
        --testpathignorepatterns
        --deselect\b
        -k\s+[\"']?not\s
        -m\s+[\"']not\s
        \bassert true\s*$
        \bexpect\(true\)\.tobe
        """,
    ),
    _rule(
        "accepts any output as right",
        r"""
        --update-?snapshots?\b
        --snapshot-update\b
        \binsta_update=(?:always|1)
        --accept-all\b
        """,
    ),
    _rule(
        "disables TLS checks",
        r"""
        --insecure\b
        --no-check-certificate
        --(?:no|disable)-(?:verify-)?(?:ssl|tls)\b
        \bverify\s*=\s*false
        node_tls_reject_unauthorized
        git_ssl_no_verify
        sslverify[\"'= ]+(?:false|0)
        pythonhttpsverify=0
        _create_unverified_context
        \bcert_none\b
        check_hostname\s*=\s*false
        rejectunauthorized[\"']?\s*:\s*false
        insecureskipverify
        insecure-skip-tls-verify
        ssl_?mode=(?:disable|allow|none)
        strict-ssl[ =]+false
        danger_accept_invalid
        ssl_verify(?:peer|host|_none)
        --trusted-host\b
        stricthostkeychecking[= ]+(?:no|off)
        userknownhostsfile[= ]*/dev/null
        servercertificatevalidation
        -skipcertificatecheck
        \bgoinsecure=
        \bgo(?:nosumcheck|nosumdb)=
        \bgosumdb=off
        \bgoflags=-insecure
        """,
    ),
    _rule(
        "skips a safeguard",
        r"""
        --skip(?:-[\w-]+)?(?=[\s=`'\"]|$)
        --no-(?:check|lint|type-?check|gpg|hook|strict|audit|sign|validate|sandbox)[\w-]*
        --(?:dangerously|unsafe|bypass|yolo|force-yes|nogpgcheck|nodeps|nosignature|nodigest|privileged|auto-approve|admin)[\w-]*
        --disable-(?:\w+-)?check
        --allow-(?:unauthenticated|insecure|dirty|untrusted)[\w-]*
        --no-preserve-root
        --break-system-packages
        --legacy-peer-deps
        --ignore-scripts\b
        --fake(?:-initial)?\b
        docker\.sock\b
        --ignore-(?:requires|platform|engines)[\w-]*
        --transpile-?only
        --follow-imports[= ]skip
        --validate=false
        --trust-model[= ]always
        --cap-add[= ]all
        --assume-unchanged
        --skip-worktree
        -auto-approve
        -lock=false
        =unconfined\b
        bypasspermissions
        \bpip_break_system_packages
        \bsafe\.directory\b.{0,5}\*
        """,
    ),
    _rule(
        "skips a safeguard",
        r"""
        \b(?:[A-Z0-9]{1,30}_){0,6}(?:SKIP|DISABLE|NO_VERIFY|BYPASS|INSECURE|ALLOW_NO_CONFIG|NO_DEV_ERRORS|COMPILE_ON_ERROR)(?:_[A-Z0-9_]{1,60})?=(?!\s|0\b|false\b|\"\"|''|$)
        \bCI=(?:false|0|\s|''|\"\")
        \bPYTHONWARNINGS=ignore
        -W\s*ignore\b
        """,
        "m",
    ),
    _rule("forces", r"(?<![\w-])--force(?!-re(?:install|build|create)|-color|-exclude)(?:-[\w-]+)?(?=[\s=`'\".,;)]|$)"),
    _rule("silences a warning", r"\badvice\.\w+[\"']?\s+(?:false|0|off)\b"),
    _rule(
        "destroys data",
        r"""
        --accept-data-loss\b
        \bdrop\s+(?:table|database|schema|index|view|owned)\b
        \btruncate\s+table\b
        \bflush(?:all|db)\b
        \bdelete\s+from\s+\w+\s*(?:;|\"|'|$)
        \bdropdb\b
        \bdropdatabase\(
        \becto\.(?:drop|reset)
        \bdb:(?:drop|reset|purge)\b
        \bmigrate reset\b
        \bmkfs\b
        \bdd\b[^\n]{0,80}\bof=/dev/
        >\s*/dev/(?:sd|nvme|disk)
        :\(\)\s*\{
        \bterraform destroy\b
        \bfilter-(?:branch|repo)\b
        """,
    ),
    _rule(
        "runs code from the network",
        r"""
        \b(?:curl|wget)\b[^\n]{0,300}\|\s*(?:sudo\s+)?(?:\w+=\S+\s+){0,4}(?:(?:ba|z|da|k)?sh|python\d?|node|perl|ruby)\b
        \b(?:ba|z)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)
        base64\s+(?:-d|--decode)[^\n]{0,80}\|\s*\w*sh\b
        \beval\s+[\"']?\$\(\s*(?:curl|wget)
        """,
    ),
    _rule(
        "touches credentials or the system's protection",
        r"""
        \bid_(?:rsa|ed25519|ecdsa)\b
        [~/]\.ssh/
        \.aws/credentials
        /etc/(?:shadow|sudoers)
        \.netrc\b
        \.pgpass\b
        \bsetenforce\s+0
        \b(?:csrutil|ufw|spctl)\b[^\n]{0,20}disable
        com\.apple\.quarantine
        """,
    ),
)
HIDES_OUTPUT = re.compile(r"(?:2|&)>>?\s*/dev/null|>\s*/dev/null\s+2>&1")
# Options that make a checker strict: leaving one out gets past it like switching it off.
STRICT = re.compile(
    r"(?<![\w-])(?:--(?:strict|max-warnings|fail-(?:on|under)|cov-fail-under|error-on|warnings-as-errors|deny-warnings"
    r"|werror|pedantic|exit-code|halt-exit-status|disallow-[a-z-]+|enable-error-code|failOnWarning"
    r"|locked|frozen|immutable|require-hashes)[\w-]*|-Werror"
    r"|set -(?:[a-z]{0,5}e[a-z]{0,5}|o (?:errexit|pipefail|nounset))|(?:ba|da|k|z)?sh -[a-z]{0,4}e[a-z]{0,4})\b",
    re.IGNORECASE,
)

# What `rm -r` may take: folders that a build makes again.
REBUILT = re.compile(
    r"(?:^|/)(?:node_modules|dist|build|out|target|_build|deps|coverage|htmlcov|tmp|venv|__pycache__|Pods|DerivedData"
    r"|\.(?:next|nuxt|turbo|cache|parcel-cache|venv|pytest_cache|mypy_cache|ruff_cache|tox|gradle|eggs|elixir_ls)"
    r"|[\w.-]{1,80}\.egg-info)(?:/[\w.*-]*)*/?$|^/(?:private/)?tmp/[\w./-]+$"
)
TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[\w-]+\.\w+$|[_.-](?:test|spec)s?\.\w+$", re.IGNORECASE
)
OPEN_MODE = re.compile(r"0?[0-7]?(?:[0-7][0-7][2367]|77[0-7])$|(?:a|o|ugo|go)[+=]r?w|\+rwx$")
LOOKS_AWAY = re.compile(
    r"--(?:(?:extend-)?(?:ignore|exclude)|disable|skip|deselect|allow|suppress|omit|no-error|no-strict|no-config-lookup"
    r"|no-eslintrc|per-file-ignores|max-warnings|no-cov|no-inline|quiet$)"
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CHECKERS = _names(
    """
    pytest ruff flake8 pylint mypy pyright eslint tslint stylelint biome oxlint rubocop shellcheck hadolint
    golangci-lint credo clippy jest vitest mocha playwright cypress bandit semgrep trivy tsc phpstan psalm phpcs ktlint
    detekt swiftlint checkov tflint yamllint markdownlint codespell staticcheck vet
    """
)
# Programs whose `-f` names a file, a field or a filter, or only stops a question.
HARMLESS_F = _names(
    """
    tail grep egrep fgrep rg ag awk gawk sed cut tar make gmake ssh scp ps pgrep pkill test [ [[ find psql mysql helm
    docker compose docker-compose podman kubectl curl wget rm cp mv ln sort date stat ansible ansible-playbook pip gh
    xargs python python3 node ruby perl php java unzip zip readlink which lsof jq yq less cat apt apt-get sqlite3 gofmt
    ffmpeg cmake ninja ctest rsync gcc cc clang bat crontab logger mvn gradle glab aws gcloud nginx fd openssl
    """
)
FORCED_BELOW = _names("rm rmi prune delete remove kill destroy")
FORCE_BY_F = _names("npm yarn pnpm brew bundle heroku")
GIT_FORCED = _names("add push tag fetch checkout switch mv rm branch worktree submodule")
GIT_DESTROYS = {
    "reset": _names("--hard --merge"),
    "branch": _names("-D"),
    "push": _names("--delete -d --mirror --prune"),
    "update-ref": _names("-d"),
    "reflog": _names("expire delete"),
    "stash": _names("drop clear"),
    "gc": _names("--prune=now"),
    "merge": _names("-Xours -Xtheirs ours theirs"),
    "pull": _names("-Xours -Xtheirs ours theirs"),
    "rebase": _names("--skip -Xours -Xtheirs ours theirs"),
    "cherry-pick": _names("--skip -Xours -Xtheirs ours theirs"),
    "checkout": _names(". --ours --theirs"),
    "restore": _names("."),
    "switch": _names("--discard-changes"),
}
