"""Phrases that many failures share, and the kind each hints at. Data for `kinds`; written as `kind_words` is."""

from __future__ import annotations

# Words that many failures share: asked only when no structure (class, status, provider code) has decided.
GENERAL: tuple[tuple[str, str], ...] = (
    (
        "wrong_output",
        """wrong answer|incorrect answer|judged wrong|judge & expected|judge & score|judge said|below & threshold
        evaluation failed|evaluator & failed|does not match expected|output mismatch|answer mismatch
        failed the rubric|expected output & actual output|expected answer|graded incorrect|marked incorrect|grader
        score & below|not match the reference|hallucinated|factually incorrect|incorrect result|quality check failed
        wrong result|verdict|did not satisfy the rubric|wrong output|expected & judge|incorrect output
        failed evaluation|answer incorrect|judge & incorrect|judge & wrong|incorrect & judge|answer is incorrect
        answer was incorrect|answer is wrong|answer was wrong|model answered|agent answered|expected & answered
        does not match the expected|failed the check by the judge|verdict fail|unfaithful|not grounded
        graded & incorrect|graded & wrong|scored & incorrect|marked wrong|expected output to""",
    ),
    (
        "permission",
        """haven t granted|permission denied|eacces|eperm|operation not permitted|access denied|accessdenied
        accessdeniedexception|permissionerror|permission error|permissiondenied|permissiondeniederror|forbidden
        a terminal is required|a password is required|not authorized to perform|not authorized
        insufficient permission|insufficient permissions|insufficient scope|insufficient privileges
        insufficient privilege|read only file system|erofs|protected branch|failed in sandbox|sandbox denied
        sandbox & denied|blocked by hook|hook & blocked|do not have permission|don t have permission
        does not have permission|lack permission|lacks permission|write access to repository not granted
        must be owner|must be run as root|requires root|are you root|was blocked for security
        denied by your permission|has been denied|unauthorizedoperation|missing permissions|not permitted & !inputs
        no permission|unauthorized to access|requires elevation|must be superuser|permission to use
        outside of the allowed|outside the allowed|outside allowed|not in the allowed|outside of the project
        not allowed to|is denied|access is denied|privileges required|resource not accessible|denied by policy
        blocked by sandbox|seatbelt|landlock|not in allowed|requires approval & policy|denied|no write access
        no read access|read only|requires admin|requires administrator|privilege|no tty present|askpass
        administrator rights|not authorised|unauthorised access|outside workspace|write protected|locked down
        not a member|not a collaborator|not an admin|not an owner|must be a member|requires approval|needs approval
        approval required""",
    ),
    (
        "timeout",
        """timed out|timeout|time out|timeouterror|deadline exceeded|deadlineexceeded|deadlineexceedederror
        took too long|took longer than|takes longer than|readtimeout|connecttimeout|apitimeouterror|etimedout
        esockettimedout|32001 & !session|timeoutexception|timeoutexpired|sockettimeout|exceeded the time limit
        time limit exceeded|exceeded & timeout|polltimeout|time limit|did not respond within|not respond in time
        no response within|exceeded timeout|timelimitexceeded|tle|did not complete within|did not finish within
        statementtimeout|exceeded & seconds|exceeded & minutes|exceeded & ms""",
    ),
    (
        "network",
        """econnrefused|econnreset|econnaborted|enotfound|eai again|epipe|ehostunreach|enetunreach|connection refused
        connection reset|connection aborted|connection error|connection closed|connecterror|connectionerror
        connectionreseterror|connectionrefusederror|connectionabortederror|brokenpipeerror|broken pipe
        name or service not known|name resolution|could not resolve host|couldn t resolve host|getaddrinfo
        nodename nor servname|network is unreachable|no route to host|certificate verify failed|sslerror
        ssl certificate problem|ssl handshake|tls handshake|handshake failure|self signed certificate
        certificate has expired|x509 certificate|socket hang up|fetch failed|failed to fetch|remote end closed
        server disconnected|remoteprotocolerror|incomplete chunked read|peer closed connection|unexpected eof
        eof occurred|stream closed|stream ended|stream disconnected|stream was cut|failed to connect
        unable to connect|cannot connect to|could not connect|couldn t connect|connect failed|connection failed
        connection failure|connection was closed|lost connection|connection lost|connection to & lost|disconnected
        proxyerror|proxy error|unreachable|early eof|rpc failed|hung up unexpectedly|newconnectionerror
        clientconnectorerror|apiconnectionerror|serverdisconnectederror|incompleteread|chunkedencodingerror|dns
        unable to access & resolve|connection to the server|wsarecv|tls & error|ssl & error|readerror|writeerror
        network error|networkerror|connection was forcibly closed|connection timed out|err connection
        err name not resolved|err internet|socket closed|connection dropped|connection interrupted|connection broken
        premature close|terminated & other side|response ended prematurely|could not reach|unable to reach
        no internet|socketexception|und err socket|endpointconnectionerror|32000|err stream|error sending request
        protocolerror|not connected|closed connection|max retries exceeded with url|clientpayloaderror|clientoserror
        unable to verify the first certificate|httpcore & error|transport closed|transport error|transporterror
        lookup & no such host|unknown host & !file|connection pool|gone away|closed the connection
        connection & unexpectedly|connection & closed|connection was lost|no connection|tcp & error
        connection terminated|econn|websocket & closed|net err|stream & completed without|stream & ended
        ssl & could not|ssl connection|tls connection|no brokers|nobrokersavailable|host & unreachable
        connect & failed|could not be established|cannot establish|failed to establish|stream & cut
        stream & interrupted|stream & aborted|eof|failed to reconnect|failed to start mcp server
        mcp server & disconnected|server & not reachable|not reachable|cannot reach|lost contact|link is down
        received from peer|stream error & !exception|unable to resolve host|resolve host|resolve hostname
        resolve address|name lookup|failed to resolve & !import & !module|mid stream|mid response
        decoding response body|connection & reset|ssl & certificate|tls & certificate|certificate & verify
        certificate & authority|certificate & expired|certificate & trusted|certificate & hostname
        certificate & host|connection stalled|stream stalled|response stalled|stalled & stream|server closed
        server exited|server terminated|other side closed|goaway""",
    ),
    (
        "overloaded",
        """unavailable|temporarily unavailable|service unavailable|not available right now|capacity & try again
        temporarily down|try again later & busy|is busy""",
    ),
    (
        "server_error",
        """internal server error|server error|internalservererror|bad gateway|badgateway|gateway timeout
        gateway time out|server had an error|error occurred while processing your request|an internal error
        internal error encountered|modelstreamerrorexception|modelerrorexception|internalfailure
        internalserverexception|upstream error|provider returned error|upstream connect error|internal error
        internalerror|api error occurred|unexpected server|an unexpected error occurred & try again
        server side error|upstream request failed|error occurred on our|statuscode internal|code internal
        grpc & internal|internal failure|server failure|backend error|backend failure|service error|upstream failure
        on our end|our side|wrong on our""",
    ),
    (
        "invalid_request",
        """invalid request error|badrequesterror|bad request|invalid request|invalid argument|invalidargument
        validationexception|unprocessable entity|unprocessableentityerror|invalid schema|invalid type for
        unsupported parameter|unsupported value|unknown parameter|unrecognized request argument
        extra inputs are not permitted|tool use ids|tool result blocks|tool calls must be followed
        must be a response to a preceding|roles must alternate|messages must alternate
        is not supported with this model|does not support|not supported in|invalid parameter|invalid value
        malformed request|method not allowed|unsupported media type|must not be empty|32600|32700|parse error
        failed precondition|input should be|no user query|at least one message is required|field required
        missing field|protocol error|unknown name|invalid content|unsupported content|invalid image
        could not process image|invalid function parameters|json schema is invalid|schema is invalid|invalid payload
        notsupported|toomanyredirects|too many redirects|unsupported protocol|no scheme supplied|invalid url
        invalidschema|missingschema|unsupported|llm provider not provided|maximum allowed number of output tokens
        deprecated for this model|exceeds & mb maximum|maximum number of items|array too long
        must start with a user message|tool choice requires|must be unique|not a valid request|request is invalid
        request was invalid|unexpected role|unexpected & blocks|thinking blocks|cannot be modified|cache control
        too many images|unsupported image|not supported by this|must contain at least|tool call id & is missing
        following must be satisfied|must be followed|must precede|must alternate|must be provided|unexpected field
        extra fields|additional properties|must start with a thinking|is not enabled for|not enabled
        final assistant message|only supports|is only supported|cannot be used with|cannot be used together
        conflicts with & parameter|must be one of|greater than or equal to|less than or equal to
        out of range & parameter|not a supported|is not allowed here|incompatible with|tool choice|only allowed when
        is required when|between 0 and|failed to satisfy constraint|required by the api|api does not accept
        bad input|tool use blocks|tool result block|do not have a corresponding|toolmessage|required following item
        no tool output found|must be greater|must be less|must be at least|must be at most|must be between
        requires & true|requires & false|may be provided|strongly recommended|must end with|must start with
        cannot be combined|not both|you must set|query field|can only be set|can only be used|only valid when""",
    ),
    (
        "resource_missing",
        """no such file|enoent|does not exist|doesn t exist|file not found|filenotfounderror|filenotfoundexception
        pathspec|unknown revision|couldn t find remote ref|no such container|no such image|no such|nosuchkey
        nosuchbucket|could not find|cannot find & !symbol & !name & !value & !type|can t find|couldn t find
        cannot stat|cannot access|can t open file|notfound|notfounderror|notfoundexception|nosuchfileexception
        missing script|e404|undefinedtable|no rule to make target|was not found|not a valid object name|bad revision
        unable to find|could not locate|does not appear to be a git repository|not a git repository
        repository not found|not found|cannot open|no file|undefinedcolumn|no longer exists|could not read file
        could not open|not a tree object|no task found with id|does not have any commits|no matching
        does not match any|no resources found|unknown key|object not found|cannot be found|no configuration file
        has been deleted|could not be found|not be found|could not be located|no record|has no & entry|no entry
        missing file|no element|unable to locate|no results for|is missing|doesn t have a resource
        have a resource type|unknown host & file|no matches for|no match for|missing key|unknown project
        unknown branch|unknown database|unknown table|unknown column|unknown collection|no row was|unknown id
        invalid reference|no & with that id|no & with id|no & with this id""",
    ),
    (
        "assertion",
        """assertionerror|assertion failed|assertion & failed|assertion left|invariant|err assertion|assert failed
        precondition violated|postcondition|assert false|assertion violation|assertionfailederror
        sanity check failed|failed assertion|assertion error|check failed & !conditional""",
    ),
    (
        "command_failed",
        """make & error 1|make & error 2|make & error 127|did not complete successfully|lifecycle & npm|elifecycle
        non zero exit|non zero code|would be reformatted""",
    ),
    (
        "code_error",
        """syntaxerror|traceback most recent call last|is not a function|is not defined|undefined reference
        unhandled exception|uncaught|panic|panicked|segmentation fault|nullpointerexception|cannot find symbol
        compilation error|compile error|compilation failed|compilation failure|failed to compile|build failed
        typeerror|valueerror|keyerror|indexerror|attributeerror|nameerror|runtimeerror|referenceerror|rangeerror
        fatal error|exception in thread|core dumped|heap out of memory|null pointer|stack overflow
        stackoverflowerror|undefined method|nomethoderror|undefined variable|undefined local|type error
        parse failure|cannot read properties of|cannot read property|out of memory|outofmemoryerror
        could not compile|expected & found & line|memory access|use of undeclared|undeclared|invalid syntax
        memoryerror|arithmeticexception|illegalargumentexception|illegalstateexception|argumenterror
        division by zero|error mypy|not assignable to|cannot borrow|mismatched types|is not iterable
        object has no attribute|bus error|arrayindexoutofboundsexception|concurrentmodificationexception
        indentationerror|zerodivisionerror|assignment to|expected before|expected & before|cannot use & as
        cannot convert|cannot read|cannot assign|cannot be converted|incompatible types|incompatible type
        unresolved reference|unresolved external|no member named|redefinition of|duplicate definition
        unexpected token|unterminated|parser error|parse error|does not implement|not callable|cannot unpack
        not subscriptable|unreachable code|invalid operation|cannot find name|implicit declaration|no overload
        unexpected indent|already declared|unhandled promise|null reference|object reference not set|borrow checker
        not json serializable|declared and not used|imported and not used|not serializable|broadcast together
        nil pointer|null value|merge keys|cannot be imported|is not a valid identifier|missing return|no such method
        nosuchmethod|no attribute|no such property|abstract method|unhandled error|out of range|out of bounds
        index out|overflow|expected expression|expected declaration|expected identifier|expected statement
        error expected|linker error|unknown type|unknown identifier|undeclared identifier|not in scope
        cannot find type|use of moved value|infinite recursion|bad address|core dump|access violation|double free""",
    ),
    (
        "tool_arguments",
        """use one of|valid options are|valid values are|allowed values|expected one of|possible values
        available options|one of the following""",
    ),
    # Says only that it may pass: better to wait and ask again than to give up.
    (
        "overloaded",
        """temporarily|temporary error|temporary failure|temporary issue|temporary problem|try again later|try again in
        try again shortly|retry later|retry in|retry after|in a moment|in a few minutes|in a few seconds|momentarily
        transient|intermittent|please wait|later & try""",
    ),
    (
        "command_failed",
        """address already in use|eaddrinuse|port is already|already in use|no space left|enospc|disk full
        error response from daemon|must first push|resource busy|device busy|text file busy|directory not empty
        enotempty|used by another process|in use by|eexist|file exists|already exists|operation not supported
        state lock|oomkilled|oom killed""",
    ),
    # A tool's envelope: what is inside decides first.
    (
        "tool_error",
        """error executing tool|tool execution failed|tool execution error|tool returned an error|error in tool
        tool failed|tool crashed|tool call failed|failed to run tool|error running tool|error calling tool
        tool invocation failed|error while executing tool|tool execution & raised
        error occurred while running the tool|plugin crashed|tool & raised an exception|tool raised|tool & threw
        tool threw|tool & crashed|toolexecutionerror|toolexception|tool error|mcperror|mcp error|resource deadlock
        could not obtain lock|deadlock detected|serialization failure|tool result error|error tool""",
    ),
)

# The last resort: a word or two that more often than not belong to one kind.
LAST: tuple[tuple[str, str], ...] = (
    ("server_error", """cloudflare"""),
    ("model_not_found", """unknown & model|model & unrecognized|model & not recognized"""),
    ("resource_missing", """unknown & !error & !failure & !reason & !problem & !exception & !cause & !issue"""),
    ("refusal", """refused|declines|declined|i can t|i cannot|i won t"""),
    ("quota_exhausted", """quota|credits|billing|overdue|unpaid|subscription & !disabled|spend"""),
    (
        "rate_limit",
        """burst|too fast|too frequent|too frequently|too often|throttle|cooldown|cool down|back off|backoff""",
    ),
    (
        "auth",
        """credential|credentials|authentication|authenticate|unauthorised|login|api key|password|passwords|log in
        unauthenticated|logged out|sign in""",
    ),
    ("timeout", """timeouts|timedout|stalled|hung|giving up|gave up|unresponsive|not responding|too slow"""),
    ("network", """network|disconnect|disconnected|proxy|handshake|offline|reconnect|eof"""),
    (
        "permission",
        """blocked|blocking|not allowed|disallowed|writable|rejected|not active|denied|restricted|prohibited|privilege
        elevated|chmod|ownership""",
    ),
    ("content_filter", """safety|policy"""),
    (
        "context_overflow",
        """context window|context length|token limit|tokens & exceed|tokens & more than|kb & limit|mb & limit
        tokens & maximum""",
    ),
    ("budget_exceeded", """budget"""),
    ("iteration_limit", """iterations|recursion|steps & limit|turns & limit|steps & exceeded|rounds & limit"""),
    ("loop_detected", """looping|repetition|stuck & same|identical & call|identical & calls|same & again & again"""),
    ("context_lost", """compaction|compacted|history & lost|memory & lost|session & lost|forgot"""),
    ("cancelled", """cancelled|canceled|interrupted|aborted & !must|cancellation|shutting down|shutdown"""),
    (
        "malformed_output",
        """json & output|json & model|json & llm|json & answer|schema & output|schema & answer|parse & llm
        parse & answer|parse & model""",
    ),
    ("tool_arguments", """argument|arguments|parameter & invalid|parameters & invalid|parameter & missing"""),
    ("dependency_missing", """dependency|dependencies|cannot resolve & package|required but not"""),
    (
        "code_error",
        """compile|compiler|imported but unused|not configured|syntax|exception|segfault|oom|undefined|overflow|unbound
        corrupted|crashed|stack trace""",
    ),
    (
        "tool_error",
        """tool & failed|tool & error|tool|element & click|element & visible|element & attached|element & viewport
        strict mode violation""",
    ),
    (
        "command_failed",
        """killed|exited & code|exit code|exit status|fatal|git|execution failed for task|failed to execute goal
        what went wrong|err pnpm|lockfile""",
    ),
    ("network", """connection|communication|communications|socket|connect|terminated|certificate|ssl|tls"""),
    ("overloaded", """busy|capacity"""),
    ("permission", """disabled|country|access|rights|permissions|administrator"""),
    ("resource_missing", """missing|gone|failed to open|cannot resolve|could not resolve|nonexistent|non existent"""),
    (
        "invalid_request",
        """invalid|unsupported|not supported|malformed|unrecognized|unrecognised|too long|too large|too small|must be
        must have|must not|must match|should match|should be|is required|out of range|range|temperature
        does not match|do not match|exceeds|exceed|incorrect""",
    ),
)
