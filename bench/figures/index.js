'use strict'
// `npm run figures`: writes the tables and figures of all pages from data/*.csv. With `--check` it writes nothing. Exit
// codes: 0 done; 1 with --check, a page differs; 2 a wrong option, or a marker that asks for what is not there.

const path = require('node:path')
const { parseArgs } = require('node:util')
const { UserError } = require('../lib/run')
const { composePages, writePages } = require('./pages')

const ROOT = path.join(__dirname, '..', '..')

/** @param {string[]} argv */
function run (argv) {
  const { values: { check } } = parseArgs({ args: argv, options: { check: { type: 'boolean' } } })
  if (!check) {
    const changed = writePages(ROOT)
    return console.log(changed.length === 0 ? 'every page has the figures of data/' : `written: ${changed.join(', ')}`)
  }
  const stale = composePages(ROOT).filter(({ text, written }) => text !== written)
  for (const { file } of stale) console.error(`${file} has other figures than data/: npm run figures`)
  process.exitCode = stale.length > 0 ? 1 : 0
}

try {
  run(process.argv.slice(2))
} catch (err) {
  const { code } = /** @type {NodeJS.ErrnoException} */ (err)
  if (!(err instanceof UserError) && !code?.startsWith('ERR_PARSE_ARGS')) throw err
  console.error(`figures: ${/** @type {Error} */ (err).message}`)
  process.exitCode = 2
}
