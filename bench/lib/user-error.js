'use strict'
// A failure that is the user's to mend (an option, a file): one line on stderr and exit code 2, never a stack trace.

class UserError extends Error {}

exports.UserError = UserError
