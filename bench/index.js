'use strict'
// `npm run bench`. Exit codes: 0 done, 1 a measurement failed or the stacks disagree, 2 a wrong option or file.

const { runCommand } = require('./lib/command')
const { COMMAND, parseOptions, run } = require('./layers/command')

runCommand(COMMAND, parseOptions, run)
