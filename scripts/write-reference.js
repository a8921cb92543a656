'use strict'
// Writes docs/reference/command.md, the reference page of the command, from the commands themselves.

const fs = require('node:fs')
const path = require('node:path')
const { commandNames, loadCommand } = require('../packages/millrace/lib/cli/commands')
const { createReference } = require('../packages/millrace/lib/cli/reference')

fs.writeFileSync(path.join(__dirname, '..', 'docs', 'reference', 'command.md'), createReference(commandNames.map(loadCommand)))
