'use strict'
// `npm run bench:limits`. Exit codes: 0 done, 1 a goal was missed by more than 10 % or a measurement failed, 2 a wrong
// option.

const { runCommand } = require('../lib/command')
const { COMMAND, parseOptions, run } = require('./command')

runCommand(COMMAND, parseOptions, run)
