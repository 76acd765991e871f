"""Class names, HTTP statuses and exit codes, and the kind of failure each names. Data for `kinds`."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Class names (lower case, without module) that say which kind by themselves. `!`: a definite statement about the
# program, which words in its message (a key called "rate_limit") must not turn into something else.
CLASSES: tuple[tuple[str, str], ...] = (
    ("rate_limit", "ratelimiterror ratelimitexceeded ratelimitexception toomanyrequestserror throttlingexception"),
    ("rate_limit", "toomanyrequests resourceexhausted toomanyrequestsexception ratelimitedexception ratelimited"),
    ("quota_exhausted", "servicequotaexceededexception quotaexceedederror insufficientquotaerror"),
    ("overloaded", "overloadederror serviceunavailableerror serviceunavailable serviceunavailableexception"),
    ("overloaded", "modelnotreadyexception"),
    ("server_error", "internalservererror internalservererrorexception internalserverexception servererror badgateway"),
    ("server_error", "badgatewayerror modelstreamerrorexception modelerrorexception gatewaytimeout"),
    ("timeout", "timeouterror apitimeouterror timeout readtimeout connecttimeout writetimeout pooltimeout"),
    ("timeout", "readtimeouterror connecttimeouterror timeoutexception timeoutexpired deadlineexceeded"),
    (
        "timeout",
        "servertimeouterror sockettimeoutexception httptimeoutexception asynciotimeouterror modeltimeoutexception",
    ),
    ("timeout", "connectiontimeouterror sockettimeouterror querycancelederror"),
    ("network", "connectionerror connectionrefusederror connectionreseterror connectionabortederror brokenpipeerror"),
    ("network", "apiconnectionerror connecterror readerror writeerror networkerror remoteprotocolerror sslerror"),
    ("network", "sslcertverificationerror gaierror herror incompleteread remotedisconnected clientconnectorerror"),
    ("network", "serverdisconnectederror clientconnectionerror clientoserror clientpayloaderror newconnectionerror"),
    ("network", "maxretryerror chunkedencodingerror protocolerror endpointconnectionerror connectionclosederror"),
    ("network", "connectionclosed urlerror proxyerror connectexception socketexception unknownhostexception"),
    (
        "network",
        "sslhandshakeexception nameresolutionerror serverselectiontimeouterror connectionclosedok transporterror",
    ),
    (
        "auth",
        "authenticationerror unauthorized unauthorizederror unauthorizedexception autherror expiredtokenexception",
    ),
    ("auth", "nocredentialserror defaultcredentialserror unrecognizedclientexception invalidtokenerror"),
    ("permission", "permissiondeniederror permissionerror permissiondenied accessdeniedexception forbidden"),
    ("permission", "forbiddenexception"),
    ("invalid_request", "badrequesterror badrequest unprocessableentityerror invalidrequesterror validationexception"),
    ("invalid_request", "invalidargument unsupportedparamserror missingschema invalidurl invalidschema conflicterror"),
    ("context_overflow", "contextwindowexceedederror lengthfinishreasonerror incompleteoutputexception"),
    ("content_filter", "contentpolicyviolationerror contentfilterfinishreasonerror inputguardrailtripwiretriggered"),
    ("content_filter", "outputguardrailtripwiretriggered guardrailtripwiretriggered blockedpromptexception"),
    ("content_filter", "stopcandidateexception contentfiltererror"),
    ("refusal", "refusalerror modelrefusalerror"),
    ("malformed_output", "outputparserexception modelbehaviorerror unexpectedmodelbehavior apiresponsevalidationerror"),
    ("malformed_output", "validationerror jsondecodeerror instructorretryexception noobjectgeneratederror"),
    ("malformed_output", "typevalidationerror jsonparseerror"),
    ("empty_response", "nooutputgeneratederror nocontentgeneratederror emptyresponseerror"),
    ("tool_not_found", "toolnotfounderror nosuchtoolerror commandnotfoundexception commandnotfounderror toolnotfound"),
    ("tool_arguments", "inputvalidationerror toolinputvalidationerror isadirectoryerror notadirectoryerror"),
    ("tool_arguments", "toolinputparsingexception invalidtoolargumentserror modelretry"),
    ("tool_error", "toolexception toolexecutionerror toolerror mcperror"),
    (
        "resource_missing",
        "filenotfounderror notfounderror notfound resourcenotfoundexception nosuchkey nosuchfileexception",
    ),
    ("resource_missing", "filenotfoundexception nosuchbucket doesnotexist objectdoesnotexist"),
    ("dependency_missing", "modulenotfounderror importerror noclassdeffounderror classnotfoundexception loaderror"),
    ("dependency_missing", "packagenotfounderror"),
    ("assertion", "assertionerror assertionfailederror"),
    ("code_error", "integrityerror dataerror uniqueviolation"),
    ("loop_detected", "agentstuckinlooperror loopdetectederror"),
    ("iteration_limit", "graphrecursionerror recursionerror maxturnsexceeded maxiterationserror stackoverflowerror"),
    ("budget_exceeded", "budgetexceedederror budgetexceeded usagelimitexceeded"),
    ("context_lost", "sessionnotfounderror contextlosterror"),
    ("cancelled", "cancellederror keyboardinterrupt aborterror apiuseraborterror cancellationerror"),
    ("cancelled", "operationcanceledexception interruptedexception"),
    ("cascade", "circuitbreakererror circuitopenerror brokencircuitexception callnotpermittedexception"),
)

# The program under work is at fault, whatever words its message quotes.
PROGRAM_ERRORS = _names(
    """nameerror keyerror indexerror attributeerror zerodivisionerror unboundlocalerror syntaxerror indentationerror
    taberror referenceerror overflowerror floatingpointerror unicodedecodeerror unicodeencodeerror notimplementederror
    stopiteration stopasynciteration nullpointerexception indexoutofboundsexception arrayindexoutofboundsexception
    classcastexception arithmeticexception nomethoderror rangeerror buffererror lookuperror unicodeerror
    unsupportedoperationexception"""
)

# A class that nobody listed says much by what its name holds.
NAME_PARTS: tuple[tuple[str, str], ...] = (
    ("rate_limit", "ratelimit throttl toomanyrequests"),
    ("quota_exhausted", "quota"),
    ("overloaded", "overload unavailable"),
    ("timeout", "timeout timedout"),
    ("auth", "authentication unauthorized credential"),
    ("permission", "permission forbidden accessdenied"),
    ("tool_not_found", "toolnotfound"),
    ("dependency_missing", "modulenotfound packagenotfound gemnotfound"),
    ("resource_missing", "notfound noresult nosuch doesnotexist"),
    ("cascade", "circuit"),
    ("context_overflow", "contextwindow contextlength"),
    ("content_filter", "contentfilter guardrail"),
    ("budget_exceeded", "budget"),
    ("network", "connect socket network communicat"),
    ("malformed_output", "pars decode validation"),
    ("assertion", "assertion"),
    ("code_error", "violation truncation"),
    ("invalid_request", "unsupported"),
)

# Says nothing beyond "an exception": the words of its message decide first.
ANY_ERRORS = _names(
    """valueerror typeerror runtimeerror exception oserror systemerror memoryerror arithmeticerror ioexception
    runtimeexception illegalargumentexception illegalstateexception argumenterror standarderror
    outofmemoryerror"""
)

# What APIs, clusters and databases call their errors (lower case, without underscores), where that is not what a class
# of the same name says; SQL states by their class, the first two characters.
CODES: dict[str, str] = {
    name: kind
    for kind, names in (
        ("invalid_request", "validationerror invalid badrequest invalidparametervalue failedprecondition outofrange"),
        ("invalid_request", "unimplemented insufficientcapabilitiesexception conflict malformedpolicydocument"),
        ("invalid_request", "invalidparametercombination missingparameter unknownoperationexception"),
        ("server_error", "internal internalerror internalfailure dataloss apierror servererror"),
        ("overloaded", "overloadederror slowdown servertoobusy"),
        ("timeout", "requesttimeout requesttimeoutexception timeout timeouterror"),
        ("auth", "unauthenticated authfailure signaturedoesnotmatch invalidclienttokenid invalidaccesskeyid 28"),
        ("auth", "expiredtoken invalididentitytoken authenticationerror"),
        ("permission", "accessdenied unauthorizedoperation permissionerror"),
        ("cancelled", "canceled cancelled"),
        ("quota_exhausted", "limitexceededexception limitexceeded insufficientquota billingerror"),
        ("context_overflow", "requesttoolarge"),
        ("rate_limit", "throttling requestlimitexceeded throttlederror ratelimiterror toomanyrequests"),
        ("resource_missing", "nosuchentity resourcenotfound notfounderror 3d"),
        ("command_failed", "alreadyexists resourcealreadyexistsexception bucketalreadyexists entityalreadyexists"),
        ("network", "08"),
        ("code_error", "22 23"),
        ("network", "curl5 curl6 curl7 curl16 curl18 curl35 curl55 curl56 curl60 curl92"),
        ("timeout", "curl28"),
        ("tool_arguments", "curl1 curl2 curl3"),
        ("auth", "curl67"),
        ("", "unavailable 42"),  # the words beside it decide
    )
    for name in names.split()
}

STATUSES: dict[int, str] = {
    400: "invalid_request",
    401: "auth",
    402: "quota_exhausted",
    403: "permission",
    404: "resource_missing",
    405: "invalid_request",
    406: "invalid_request",
    408: "timeout",
    409: "invalid_request",
    410: "resource_missing",
    411: "invalid_request",
    412: "invalid_request",
    413: "context_overflow",
    414: "invalid_request",
    415: "invalid_request",
    416: "invalid_request",
    417: "invalid_request",
    422: "invalid_request",
    424: "server_error",
    425: "server_error",
    426: "invalid_request",
    428: "invalid_request",
    429: "rate_limit",
    431: "invalid_request",
    451: "content_filter",
    498: "overloaded",
    499: "cancelled",
    500: "server_error",
    501: "invalid_request",
    502: "server_error",
    503: "overloaded",
    504: "server_error",
    505: "invalid_request",
    507: "server_error",
    508: "server_error",
    520: "server_error",
    521: "server_error",
    522: "timeout",
    523: "server_error",
    524: "timeout",
    525: "network",
    526: "network",
    529: "overloaded",
    530: "server_error",
}

# 128 + signal for what a shell kills; 124 is timeout(1)'s. An out-of-memory kill (137) is a failed command.
EXIT_CODES: dict[int, str] = {
    124: "timeout",
    126: "permission",
    127: "tool_not_found",
    130: "cancelled",
}

# How a status is spelled out where nothing else says that it is one ("429 Too Many Requests"); gRPC's names too.
REASONS: dict[str, tuple[str, ...]] = {
    "400": ("bad request", "invalid argument"),
    "401": ("unauthorized", "unauthenticated", "authorization required"),
    "402": ("payment required",),
    "403": ("forbidden", "permission denied"),
    "404": ("not found",),
    "405": ("method not",),
    "408": ("request timeout", "request time"),
    "409": ("conflict",),
    "413": ("payload too", "request entity", "content too"),
    "422": ("unprocessable",),
    "429": ("too many requests", "resource exhausted"),
    "500": ("internal",),
    "501": ("not implemented",),
    "502": ("bad gateway",),
    "503": ("service unavailable", "service temporarily"),
    "504": ("gateway", "deadline exceeded"),
    "520": ("web server",),
    "521": ("web server",),
    "522": ("connection timed",),
    "524": ("a timeout",),
    "529": ("overloaded", "site is"),
}
