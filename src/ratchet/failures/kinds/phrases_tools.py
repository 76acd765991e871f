"""The part of `kind_words` that speaks of tools, output and packages rather than of a provider. Data for `kinds`."""

from __future__ import annotations

TOOL_SIDE: tuple[tuple[str, str], ...] = (
    (
        "tool_not_found",
        """no such tool|unknown tool|tool not found|toolnotfounderror|toolnotfound|method not found|32601|no tool named
        command not found|is not recognized as an internal or external command
        not recognized as the name of a cmdlet|is not recognized as a name of a cmdlet|executable file not found
        is not a valid tool|unknown function|commandnotfoundexception|not a git command|unknown command & !redis
        not a tool|nonexistent tool|non existent tool|tool does not exist|does not match any tool
        commandnotfounderror|command & not found & did you mean|no tool with name|not in the list of available tools
        no function named|not a registered tool|unsupported call|nosuchtoolerror|no such command|is not a known tool
        not found in tool list|unregistered tool|only available actions|don t exist & action|action & not available
        tool & not available|tool & not registered|tool & unavailable & !temporarily|not a function i can call
        no tool called|tool & doesn t exist|has no tool|no tool & available & named|does not have a tool
        does not offer|tool list & not""",
    ),
    (
        "tool_arguments",
        """string to replace not found|string to replace was not found|matches of the string to replace
        old string not found|old string and new string are exactly the same|old str & not found
        did not appear verbatim|no replacement was performed|multiple occurrences of old str|inputvalidationerror
        input validation error|invalid params|32602|missing required parameter & !messages
        required parameter & is missing|required parameter missing|required positional argument
        required positional arguments|unexpected keyword argument|positional arguments but|positional argument but
        got multiple values for|required keyword only argument|is a directory|eisdir|isadirectoryerror
        notadirectoryerror|enotdir|not a directory|illegal operation on a directory|unrecognized arguments
        unrecognized argument|unrecognized option|unknown option|invalid option|unknown flag|unknown switch
        unexpected argument|unknown shorthand flag|no such option|illegal option|bad option
        following arguments are required|missing required argument|missing required arguments
        flag provided but not defined|apply patch verification failed|failed to find expected lines
        failed to find context|invalid tool input|invalid tool arguments|invalid arguments for tool
        invalid function arguments|arguments for function|arguments for tool|validation error for call
        validation errors for call|invalid input for tool|invalid patch|failed to parse function arguments
        failed to parse arguments|invalid tool parameters|patch does not apply|patch failed|corrupt patch
        requires at least & argument|requires exactly & argument|accepts & arg|missing argument|missing arguments
        too many arguments|not enough arguments|invalid argument value|toolinputvalidationerror
        toolinputparsingerror|bad arguments|expected argument|argument & required|unknown argument|invalid value for
        invalid choice|must be one of & parameter|invalidtoolargumentserror|invalid tool call
        argument validation failed|arguments do not match|tool & missing required|invalid parameters
        option requires an argument|option requires a value|requires a value|unknown parameter & tool|unknown arg
        no match for old string|oldstring not found|old text not found|search block & not|search replace block
        received tool input did not match|parameter validation failed & tool|missing command line argument
        hunk & not found|context not found|paths must precede|must come before|hunk failed|hunks failed
        only garbage was found|invalid hunk|malformed patch|invalid context|parameter & must be
        argument & must be & !exception|option & is unknown|option & unknown|flag & unknown|unknown & option
        must be a string & !message|must be an integer|must be a number|is not a valid integer
        invalid literal for & argument|unexpected parameter|invalid type for argument|no value given for & parameter
        old string & not found|old str & found|search string & not found|search text & not found|no changes to apply
        edit & did not match|match & more than once|multiple matches found|action input & not|tool input & not
        input tag & tool|find old string|find old str|could not find the text to replace|text to replace|apply diff
        diff edit failed|diff & search & match|search pattern & match|search patterns & match
        invalid regular expression|invalid regex|invalid regexp|regex parse error|replacement produced identical
        invalid glob|matches parameter name|invalid pattern|line number & out of range|offset & out of range
        line & is out of range""",
    ),
    (
        "tool_error",
        """has not been read yet|has been modified since|has been unexpectedly modified|file was modified since|32603
        database is locked|internal error in tool|tool & internal error|tool & internal failure|tool result missing""",
    ),
    (
        "malformed_output",
        """jsondecodeerror|outputparserexception|could not parse llm output|failed to parse & json
        failed to parse & output|failed to parse & response|invalid json|modelbehaviorerror
        unexpectedmodelbehavior & !empty & !safety|not valid json|exceeded maximum retries & output
        exceeded maximum retries & result|exceeded maximum retries & validation
        validation error for & field required|validation errors for|validation error for|expecting value line
        expecting property name|unterminated string|unexpected end of json|in json at position|is not valid json
        did not match schema|does not match schema|does not match the schema|not match the expected schema
        does not conform|schema validation failed|failed schema validation|missing action after thought
        extra data line|parsing llm output|parse model output|could not parse|output parsing|unparseable|unparsable
        malformed & output|malformed & response|malformed & json|malformed & answer|malformed & reply
        malformed tool call|malformed completion|failed to deserialize|no valid json|expected json|json parse error
        json parsing|invalid structured output|response is not json|structured output validation|typevalidationerror
        noobjectgeneratederror|no object generated|malformed function call|output validation|jsonparseerror
        instructorretryexception|parse the response|unexpected mimetype|schema mismatch|apiresponsevalidationerror
        json schema validation|output did not match|unexpected response format|illegal trailing comma
        invalid control character|no json object could be decoded|response did not match|result failed validation
        expected structured output|zoderror & response|not conform|did not conform|failed to call a function
        failed generation|code parsing|tool use failed|agentparsingerror|regex pattern & code
        could not extract & json|no json found|json & not found in|invalid yaml|missing required field & output
        not a valid action|unable to parse|cannot parse|failed to decode|failed validation|output failed
        fails validation|validation failed for & output|response & does not validate|parse error & model
        parse error & answer|parse error & output|parse error & llm|yaml & answer|xml & answer|convertererror
        failed to convert & model|convert & into a pydantic|extract json""",
    ),
    (
        "empty_response",
        """null content|no choices|choices is empty|choices was empty|empty choices|empty response|response was empty
        response is empty|empty content|content is empty|content was empty|returned empty|returned an empty
        returned no content|returned no text|received empty|no response from|none or empty|content none
        empty completion|no generations|no candidates|returned nothing|empty message|model returned no|empty output
        without structuredoutput|without producing|without calling structuredoutput|no content returned
        no text content|nooutputgeneratederror|no output generated|text content is empty|content null|no output was
        produced no output|zero tokens|no completion|no content in response|no message content|empty model response
        received no content|nocontentgeneratederror|empty string returned|empty reply from server|empty body
        must contain either output text|empty result|empty string & model|empty string & llm|no response was
        no answer was|no response received|without a final answer & empty|blank response|empty reply
        response is none|response was none|returned none & model|no text & model|nothing was returned|empty text
        no reply|did not provide any|did not return any|no assistant messages|not return any content|didn t return
        no text in|response body was empty|blank answer|empty answer|answer was empty|output was empty
        output is empty|null response|none response|no choices returned|empty completion choices|no response
        content was null|content is null|message content & null|null message|returned neither|neither text nor
        neither content nor|zero choices|without content|without any content|with no content|no answer
        has no content|no text returned|no output text|returned without text""",
    ),
    (
        "refusal",
        """i m sorry but i can t|i m sorry i can t|sorry but i can t|i can t assist|i cannot assist|i can t help
        i cannot help|i m unable to|i am unable to|i won t be able to|i m not able to|i am not able to
        i must decline|i can t provide|i cannot provide|i can t fulfill|i cannot fulfill|i cannot comply
        i can t comply|i m not comfortable|as an ai|i apologize but i|model refused|refused to answer
        stop reason refusal|can t comply with|unable to comply|i can t create|i cannot create|unable to fulfill
        i have to decline|i can t do that|i cannot do that|i can t continue with|i m sorry but i cannot
        i m sorry i cannot|i can t share|refused to|model refusal|modelrefusalerror|i will not|i can t support
        i can t generate|i cannot generate|i can t write|i decline|declined to answer|refusal|i can t engage
        declined to respond""",
    ),
    (
        "code_error",
        """circular import|partially initialized module|php parse error|parse error syntax error|php fatal error""",
    ),
    (
        "dependency_missing",
        """modulenotfounderror|no module named|cannot find module|err module not found|module not found
        no matching distribution|could not find a version that satisfies|cannot find package
        no required module provides|package & is not in std|cannot open shared object|could not load dynamic library
        noclassdeffounderror|classnotfoundexception|cannot load such file|could not find gem
        unable to locate package|executable doesn t exist at|playwright install
        fatal error & no such file or directory & compilation|fatal error & h no such file|can t find crate
        linker cc not found|linker & not found|please install|is not installed|not installed
        cannot resolve dependency|could not resolve dependencies|unresolved dependency|unable to resolve module
        missing dependency|optional dependency|cannot find type definition file|missing dependencies
        cannot find reference package|package & does not exist|no package & found|library not loaded
        use of undeclared crate or module|use of unresolved module|failed to resolve import
        could not be resolved & import|can t resolve & in|could not find artifact|dependencies were not found
        no package found|dll load failed|did you forget to install|requires & to be installed|pip install & to use
        loaderror|package not found|packagenotfounderror|unable to import required dependencies
        could not find package|unable to find vcvarsall|failed building wheel|could not build wheels
        failed to build wheel|cannot import name & !circular & !partially|no such module
        could not find the & command line tools|missing package|couldn t find package|required module is missing
        install it with|must be installed|needs to be installed|unable to find & install|executable doesn t exist
        no matching package|could not find & dependency|unmet dependency|unmet peer dependency|missing peer
        module & not installed|not found in & site packages|requires & package|package & required|is required but
        not available for import|cannot find crate|unresolved import|no such gem|could not find a package
        or greater is required|or higher is required|does not contain package|required & not found & install
        python package & import|could not import""",
    ),
)
