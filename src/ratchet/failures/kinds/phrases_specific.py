"""Phrases of providers, SDKs, shells, tools and frameworks, and the kind of failure each names. Data for `kinds`.

A phrase is written as `phrases.words_of` reads a text: lower case, only letters and digits, one blank between words, so
`insufficient_quota`, "Insufficient quota" and `insufficient-quota` are one phrase. It matches whole words. ` & ` joins
phrases that must all occur, in any order; ` & !x` asks that x does not. Groups are tried from top to bottom.
"""

from __future__ import annotations

from ratchet.failures.kinds.phrases_tools import TOOL_SIDE

# Specific enough to beat an HTTP status, an exit code or a general exception class: "429" with `insufficient_quota`
# is a quota, "400" with "prompt is too long" an overflow.
SPECIFIC: tuple[tuple[str, str], ...] = (
    (
        "cascade",
        """sibling tool call|parallel tool call & errored|circuit breaker is open|circuit breaker open|circuit is open
        circuitbreakererror|circuitbreakeropen|circuitopenerror|circuitbreakeropenexception|brokencircuitexception
        callnotpermittedexception|breaker is open|breaker open|upstream task failed|upstream failed & skipped
        because a previous & failed|because an earlier & failed|because a dependency failed
        dependency failed to start|previous step failed|previous task failed|aborted because another
        cancelled because another|because a sibling|parallel tool call failed|prior step failed
        because another tool call|not executed because|skipped because & failed|circuitbreaker & open
        circuit breaker & open|dependency step|not run because|because its dependency|dependency & was skipped
        skipping dependency & failed|skipped dependency & failed|dependency & failed & skipping
        dependency & failed & skipped|depends on & failed|parent & failed & skipped|not attempted because
        blocked by the failure|prerequisite & failed|upstream & failed & skipped|halted because & failed
        previous error|earlier failure|sibling & failed|sibling call|sibling task|sibling step
        current transaction is aborted|upstream task & error|upstream task & did not
        upstream failed & !to & !request & !provider & !gateway & !http & !error|errored & cancelled""",
    ),
    (
        "user_denied",
        """user doesn t want to|user does not want to|by user & rejected|rejected by the user|denied by user
        denied by the user|user rejected|user denied|user declined|declined by user|declined by the user
        user has rejected|user has denied|user refused|user has declined|user did not approve
        not approved by the user|not approved by user|user disapproved|human rejected|human denied|operator declined
        reviewer rejected|user chose not to|said no|tool use was rejected|user did not allow|user did not grant
        user did not give permission|approval denied|approval was denied|user cancelled the permission
        rejected by human|user skipped|user opted not to|refused by the user|human & rejected|operator & rejected
        rejected by & human|rejected by & operator|person refused|user & refused|human & denied|denied by & human
        approval & rejected|user has not approved|declined by the human|chose to reject|user & reject this
        user did not want|declined by you|rejected by you|not approved|user answered no|approval & denied
        approval & declined|denied by & reviewer|denied by & approver|user pressed no""",
    ),
    (
        "cancelled",
        """request interrupted by user|interrupted by user|interrupted by the user|keyboardinterrupt|cancellederror
        task was cancelled|task was canceled|operation was aborted|operation was canceled & !timeout
        operation was cancelled|operation canceled|operation cancelled|aborterror & !timeout|aborted by user
        aborted by the user|received sigint|received sigterm|context canceled|request was aborted|apiuseraborterror
        user aborted|user cancelled|user canceled|cancelled by user|canceled by user|cancelled by the user
        canceled by the user|run was cancelled|run was canceled|job was cancelled|job was canceled|caught sigint
        cancelled by client|client cancelled|client canceled|turn aborted|interrupted by sigint
        workflow was cancelled|request was cancelled & !timeout|request cancelled|asyncio exceptions cancellederror
        killed by the user|process was interrupted|the operation was interrupted|run cancelled|stopped by user
        stopped by the user|interrupted what should claude do|signal interrupt|c aborted|got sigint|sigterm
        user interrupt|interrupted by & user|was interrupted by|user abort|abortsignal|sigint|keyboard interrupt
        ctrl c|was aborted by|abort requested|cancel requested|cancellation requested|killed by user""",
    ),
    (
        "loop_detected",
        """loop detected & !event loop & !file system|stuck in a loop|agentstuckinlooperror|agent is stuck|agent stuck
        repeated the same|same tool call & times|same action & times|same command & times|identical tool call
        identical calls|identical arguments & times|repeating the same|repetitive tool|repetitive action|doom loop
        repetition detected|looping detected|going in circles|without making progress|infinite loop detected
        same arguments & times|repeated tool call|repeated tool calls|repeated call|repeated calls|repeated action
        repeated actions|was repeated & times|repeated & times & tool|called & times & same
        no new information & times|oscillating|repeating itself|keeps repeating|same call & times|times in a row
        repeated without|repeats the same|keeps calling""",
    ),
    (
        "iteration_limit",
        """graphrecursionerror|recursion limit of|maxturnsexceeded|max turns|maximum number of turns|maximum turns
        iteration limit|max iterations|maximum iterations|maximum number of iterations|max iteration|error max turns
        maximum recursion depth exceeded|recursionerror|maximum number of steps|max steps|maximum steps|step limit
        maximum call stack size exceeded|too many tool calls|maximum number of tool calls|max tool calls
        tool call limit|tool calls limit|max rounds|maximum rounds|turn limit|max consecutive auto reply
        max steps reached|maximum tool calls|toolcalllimitexceeded|iterations exceeded|limit of & iterations
        agentmaxiterationserror|exceeded the maximum number of & steps|consecutive auto replies
        maximum number of consecutive|exceeded max|maxiterations|max iter|too many iterations|too many steps
        too many turns|limit of & turns|limit of & steps|step budget|turns exceeded|turns reached
        without a final answer|maxstepserror|max recursion|recursion depth|recursion limit|run count""",
    ),
    (
        "budget_exceeded",
        """budget has been exceeded|budget exceeded|exceeded budget|exceeds budget|exceeds the budget|max budget
        maximum budget|budgetexceedederror|budgetexceeded|usagelimitexceeded|exceed the request limit of
        exceed the total tokens limit|exceeded the total tokens limit|exceed the output tokens limit
        exceed the input tokens limit|exceeded the output tokens limit|exceeded the input tokens limit|cost limit
        cost budget|token budget|time budget|over budget|error max budget usd|budget limit|budget reached
        budget of & exceeded|exceededbudget|exceeded the budget|budget is exhausted|budget exhausted|budget spent
        maximum cost|max cost|budget was reached|budget has been reached|out of budget|exit cost
        exceeded the request limit|exceeded its budget|would exceed the budget""",
    ),
    (
        "quota_exhausted",
        """insufficient quota|generaterequestsperdayperprojectpermodel|quota & per day|quota & perday
        free models per day|generaterequestsperdayperprojectpermodel freetier|limit 0 & quota
        too many tokens per day""",
    ),
    (
        "rate_limit",
        """current quota & retry in|quota exceeded & retry in|quota & retrydelay|quota & retry delay|quota & per minute
        quota exceeded for & per minute|quota & perminute|too many tokens please wait
        tokens & please wait before trying|quota & generaterequestsperminuteperprojectpermodel
        temporarily limiting requests|not your usage limit|quota exceeded & try again later|quota & backoff
        quota & back off|quota & per second|request quota exceeded""",
    ),
    (
        "quota_exhausted",
        """exceeded your current quota|credit balance is too low|credit balance too low|out of extra usage|session limit
        hit your session limit|5 hour limit|weekly limit|weekly usage|usage limit reached|hit your usage limit
        reached your usage limit|hit your limit|your usage limit|claude usage limit|specified api usage limits
        billing hard limit|billing not active|insufficient balance|insufficient credits|insufficient credit
        insufficient funds|payment required|requires more credits|monthly limit|monthly quota|monthly usage
        monthly spend|daily limit|daily quota|daily usage|daily request limit|daily message limit|quota exhausted
        quota has been exhausted|quota is exhausted|out of credits|run out of credits|no credits|credits exhausted
        credits are exhausted|check your plan and billing|calls month|spend limit|spending limit|spend cap
        spending cap|hard limit has been reached|key limit exceeded|premium request|premium requests
        subscription quota|usage cap|trial has expired|trial expired|balance is insufficient
        account is not active & billing|arrearage|out of quota|quota reached|exceeded quota|not enough credits
        credit limit|purchase more credits|add credits|used up your|depleted|quota limit reached|opus limit
        reached your limit & resets|account balance|exhausted your capacity|quota will reset|exhausted your daily
        insufficient user quota|credits have been exhausted|reached the end of your free|free quota|prepaid credits
        fund your account|top up|servicequotaexceededexception|usage limit exceeded|usage limit has been reached
        plan limit|billing quota|reached your & limit & !rate limit & !rate limits & !request limit
        hit your & limit & !rate limit & !rate limits|usage credits|out of & messages|free messages
        out of & requests|limit will reset|limit resets|limit & resets|quota & month|allowance
        no remaining & credits|remaining credits|0 credits|upgrade your plan|upgrade to & plan|exhausted & credits
        available credits|credits & limit|spend & exceeded|balance & exhausted|free tier limit|tier limit reached
        upgrade to continue|upgrade for more|included usage|trial ended|trial has ended|payment method""",
    ),
    (
        "context_overflow",
        """context length exceeded|maximum context length|prompt is too long|prompt too long
        exceeds maximum allowed tokens|exceeds maximum allowed size|contextwindowexceedederror
        context window exceeded|exceeds the context window|exceed the context window|exceeds context window
        exceed context limit|exceeds context limit|context window limit|input is too long|input too long
        reduce the length|reduce your prompt|reduce the prompt|tokens must be reduced|request too large for
        request too large|request entity too large|payload too large|exceeds the maximum size
        exceeds the maximum number of tokens|maximum number of tokens allowed|exceeds the model s maximum
        exceeds the context|exceeds the available context|exceed the model s|conversation is too long
        too large to process|output token maximum|longer than the model s context|larger than the maximum context
        exceeds max model len|max model len|input tokens exceed|token limit exceeded|tokens exceeded
        too long for the model|string too long & !id|exceeds the token limit|exceed token limit|exceeds token limit
        requested tokens & exceed|token count exceeds|maximum tokens & exceeded|request exceeded model token limit
        use offset and limit|context limit exceeded|context limit reached|out of context|ran out of context
        ran out of room in the model|exceeds & context size|exceeds model context|exceeded max context
        length limit was reached|finish reason max tokens|finishreason max tokens|finish reason length
        stop reason max tokens|max tokens was reached|response was truncated|model context window exceeded
        exceeds maximum context|too many total text bytes|input length & exceeds|exceeds maximum input length
        conversation too long|maximum prompt length|context size has been exceeded|lengthfinishreasonerror
        incompleteoutputexception|too many input tokens|exceeds maximum length|greater than the maximum & tokens
        not enough room in the context|input exceeds|context is too long|too long to fit|too many tokens
        too long for this model|context length & exceeded|fit into the model|exceeds the maximum context
        exceed the maximum context|more than the maximum context|output too long|response exceeded & token
        exceeded & token limit|prompt & too large|input & too large|too large & context|exceeds & token limit
        exceeds & tokens|over the context|context & too small|context window of|exceeds the limit of & tokens
        truncated & max tokens|n ctx|longer than the & context|longer than the maximum|maximum model length
        over the maximum length|size limit exceeded|exceeds max tokens|exceeding the context|exceed the context
        prompt length & exceeds|prompt exceeds|maximum context size|context size reached|context is full
        context full|max context|exceeded context|prompt & too long|input & too long & !id|context & too long
        conversation & too long|context window & exceeds|context window & exceeded|file size exceeded
        maximum & size exceeded|too large to & !convert|payload & exceeds|body & exceeds""",
    ),
    (
        "content_filter",
        """content management policy|content filter|contentfilter|content filtering|responsibleaipolicyviolation
        content policy|contentpolicyviolationerror|content policy violation|output blocked|safety system
        finish reason safety|finishreason safety|finish reason content filter|block reason|blockreason
        blocked reason|prohibited content|finish reason recitation|finishreason recitation|recitation
        blocked by safety|safety settings|safety filters|safety filter|safety ratings|usage policy|usage policies
        guardrail intervened|guardrail|inputguardrailtripwiretriggered|outputguardrailtripwiretriggered|moderation
        moderated|sensitive content|inappropriate content|data inspection failed|datainspectionfailed
        content exists risk|safety reasons|blocked by policy|violates our|prompt was blocked|blocked by our
        response was blocked|content was blocked|prompt blocked|stopcandidateexception|blockedpromptexception
        invalid prompt & flagged|flagged as|high risk cyber|blocklist|blocked by the filter
        contentfilterfinishreasonerror|safety policy|safety guidelines|content filtered|filtered content|flagged by
        blocked for safety|unsafe content|harm category|policy violation|violates & policy|violation of & policy
        content safety|responsible ai|harmful content|potentially harmful|disallowed content
        not allowed by our safety""",
    ),
    ("network", """tunnel connection failed|proxy authentication required"""),
    (
        "code_error",
        """sqlalchemy exc invalidrequesterror|unexpected eof while|parse error near|statement separator
        unexpected end of file|error in your sql syntax""",
    ),
    (
        "auth",
        """no access to the model|have access to the model with the specified|does not have access to model
        not have access to model|does not have access to claude|organization must be verified
        organization has been disabled|permission denied publickey|could not read from remote repository & publickey
        invalid api key|incorrect api key|invalid x api key|api key not valid|api key invalid|api key expired
        invalid bearer token|invalid authentication|authentication error|authenticationerror|authentication failed
        authentication failure|authenticationexception|unauthorized|unauthenticated|unauthorizederror
        oauth token has expired|token has expired|token expired|expired token|expiredtoken|expiredtokenexception
        please run login|not logged in|login required|gh auth login|bad credentials|invalid credentials
        unable to locate credentials|nocredentialserror|nocredentialsexception|credentials not found
        default credentials|could not resolve authentication method|api key client option must be set|no api key
        api key is missing|api key missing|missing api key|api key not found|api key must be|api key is required
        api key required|api key is not set|set the & api key|did not find & api key|could not read username
        could not read password|password authentication failed|access denied for user|requires authentication
        authentication required|terminal prompts disabled|token is invalid|invalid token & !unexpected token
        jwt expired|unrecognizedclientexception|invalidsignatureexception|signaturedoesnotmatch|invalid access token
        invalidaccesskeyid|security token included in the request|user not found & 401|token could not be validated
        oauth & revoked|invalid oauth|failed to authenticate|unable to authenticate|could not authenticate
        authorization header|missing authentication|must be logged in|you must log in|session expired & log in
        noauth|wrongpass|no auth credentials|invalid username or password|invalid username or token|invalid grant
        wrong api key|api key provided|please log in|re authenticate|reauthenticate|refresh token & invalid
        defaultcredentialserror|no authentication|credentials have expired|sso session & expired|login failed
        need to login|need to log in|unauthorizedexception|not authenticated|api key is invalid|api key was not
        subscription key|gh token|e401|incorrect or missing password|environment variable & token & set|docker login
        eneedauth|host key verification failed|need auth|npm login|authentication token
        authentication & not supported|signing in|sign in again|please sign in|token & invalidated|token & revoked
        auth & failed|authorization failed|invalid credential|credentials & expired|credentials & invalid
        credentials are|api token|authentication is required|session token|could not validate credentials
        invalid signature|hmac|mfa|two factor|active account selected|no active account|not signed in
        unauthenticated request|api key header|x api key|access key|secret key & invalid|key is invalid
        key & revoked|key & expired|access denied & password|access denied & token|token is incorrect
        password is incorrect|incorrect password""",
    ),
    (
        "model_not_found",
        """model not found|modelnotfounderror|model notfound|the model & does not exist|not found error & model & !tool
        is not found for api version|is not supported for generatecontent|try pulling it first
        not found & ollama pull|model & decommissioned|model & has been deprecated|model & no longer supported
        model & no longer available|deploymentnotfound|deployment for this resource does not exist
        model identifier is invalid|invalid model & !invalid model output & !invalid model response
        not a valid model id|no endpoints found|unknown model|unable to access model|model & retired
        not a valid model identifier|model does not exist|model not supported|model & is not available|no such model
        model & is not supported & !parameter & !with this model & !value|unknownmodelerror|modelnotsupported
        unrecognized model|model not exist|modelnotfound|issue with the selected model|publisher model & not found
        model & not found & !module & !models py & !tool & !file & !column & !table|no models loaded
        model is not available|does not support model|model & end of its life|no model named
        requested model & not exist|could not find model|could not resolve the foundation model
        foundation model & not & !authorized|model & could not be found|model & unavailable & permanently
        unsupported model|model & sunset|not a supported model|no model found|model name & invalid
        pull model manifest""",
    ),
    (
        "rate_limit",
        """rate limit & !rate limit headers|rate limits|rate limited|ratelimit|too many requests|throttlingexception
        throttled|throttling|requests per minute|tokens per minute|tokens per min|requests per min|ratelimiterror
        ratelimitexceeded|toomanyrequestsexception|toomanyrequests|toomanyrequestserror|slow down|slowdown
        resource exhausted & !memory|resourceexhausted & !memory|resource has been exhausted & !memory
        api calls minute|concurrency limit|concurrent requests|requests rate|request rate|calls minute
        provisionedthroughputexceeded|requestlimitexceeded|rate exceeded|ratelimitreached|rate limiting
        tier capacity exceeded""",
    ),
    (
        "timeout",
        """deadline exceeded|deadline expired|deadlineexceeded|32001 & !session""",
    ),
    (
        "command_failed",
        """failed to push some refs|no upstream branch|ignored by one of your|pre commit validation failed
        hook declined & !protected|code is not formatted|merge conflict|automatic merge failed
        would be overwritten by|refusing to merge|nothing to commit|no changes added to commit|unmerged files
        cannot rebase|divergent branches|non fast forward|index lock|another git process|resolve your current index
        cannot pull with rebase|nothing added to commit|conflict content|already exists & fatal|fetch first
        tip of your current branch is behind|no changes & commit|not concluded your merge|conflict modify delete
        unmerged paths|merge head exists|conflict rename|you need to resolve|local changes
        not possible to fast forward|cannot lock ref|command failed|already exists & branch|hook & exited
        non zero status|unstaged changes|unmerged|cherry pick & failed|rebase & failed|stash & conflict
        would be lost|not something we can merge|detached head & fatal|terraform & error & apply|eresolve
        unable to resolve dependency tree|subprocess exited with error|already checked out|auto detect email
        is already used by worktree|lint staged|pre commit & failed|peer dep|could not apply
        patch does not apply & git|git & conflict|merge & conflict|rebase & conflict|conflicts & resolve""",
    ),
    (
        "overloaded",
        """overloaded error|overloadederror|overloaded & !overloaded function & !overloaded method|over capacity
        at capacity|capacity exceeded|exceeded capacity|no capacity|insufficient capacity|high demand
        serviceunavailableerror|serviceunavailableexception|modelnotreadyexception|no healthy upstream|server busy
        server is busy|overload|currently loading|model is loading|high load|heavy load|temporarily overloaded
        service is too busy|engine is not ready|not ready to serve|loading model""",
    ),
    (
        "context_lost",
        """no conversation found|conversation not found|session not found|session was reset|session has been reset
        context was reset|context was lost|context lost|conversation history was lost|previous response & not found
        previous response not found|memory was cleared|lost during compaction|dropped by compaction
        session terminated|context was compacted|history was compacted|no longer in context|session has expired
        session expired|no longer in the context|history was truncated|conversation was reset|lost after compaction
        lost in compaction|unknown session|no conversation with|no session with|no thread with|no session found
        thread history was lost|invalid session id|checkpoint & not found|conversation was compacted
        no valid session id|history was discarded|session & has expired|session & history|previous messages & lost
        lost track of|lost the earlier|no memory of|context & dropped|context & cleared
        no longer available in this session|session & gone|forgotten after|conversation & deleted|state was lost
        session reset|prior messages|earlier messages & gone|prior context|lost & context|context & lost
        compaction & lost|lost & compaction|amnesia|conversation & lost|compaction dropped|compaction & dropped
        compaction removed|summary dropped|dropped & context|dropped from context|context was dropped
        forgot & compaction|history missing|history & missing|history was cleared|history is gone|history & lost""",
    ),
    *TOOL_SIDE,
)
