'use strict'
// Writes the pages of docs/reference: that of the command from the commands themselves, and one for each package from
// the types and comments of its sources.

const fs = require('node:fs')
const path = require('node:path')
const { createReference, folder } = require('./reference')

const { pages, missing } = createReference()
for (const [name, text] of pages) fs.writeFileSync(path.join(folder, name), text)
for (const name of fs.readdirSync(folder)) if (!pages.has(name)) fs.rmSync(path.join(folder, name))
if (missing.length > 0) console.error(`these have no description in their comment:\n  ${missing.join('\n  ')}`)
