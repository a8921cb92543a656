'use strict'
// Runs one oracle over one copy of the source, in a process of its own: what was loaded once is never loaded again.
// Usage, by planted.js: node run-oracle.js <JSON of OracleOptions and the oracle's name>, with the verdict's pipe as 3

const fs = require('node:fs')
const path = require('node:path')

const VERDICT_FD = 3

/**
 * @typedef {object} OracleOptions
 * @property {string} logModule  the package to examine
 * @property {number} seed
 */

/**
 * @typedef {object} Verdict
 * @property {Array<{ kind: string, message: string }>} failures  none when the log keeps its promises
 * @property {Record<string, any>} figures
 */

/** @param {OracleOptions & { oracle: string }} options */
async function run ({ oracle, ...options }) {
  // A copy that cannot be loaded is no bug that was caught.
  require(options.logModule)
  const { examine } = require(path.join(__dirname, oracle))
  const { failures, figures } = await examine(options)
  fs.writeSync(VERDICT_FD, JSON.stringify({ failures, figures }))
  process.exit(0)
}

run(JSON.parse(process.argv[2])).catch((err) => {
  console.error(err)
  process.exit(1)
})
