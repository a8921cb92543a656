'use strict'
// `npm run bench:peers`. Exit codes: 0 done, 1 one of ours failed or the peers disagree, 2 a wrong option.

const { runCommand } = require('../lib/command')
const { COMMAND, parseOptions, run } = require('./command')

runCommand(COMMAND, parseOptions, run)
