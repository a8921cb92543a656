// @ts-nocheck
'use strict'
// Whether appends with conditions keep them: small logs in memory, whose callers race, are compared with a model.

const { loadModules, playSmallLog } = require('../../campaigns/conditions/small-logs')
const { seededRandom } = require('../seeded')

const LOG_COUNT = 300

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = async ({ logModule, seed }) => {
  const modules = loadModules(logModule)
  const figures = { logs: 0, histories: 0, accepted: 0, refused: 0 }
  for (let log = 0; log < LOG_COUNT; log++) {
    const { faults, ...counts } = await playSmallLog(modules, seededRandom(seed, log))
    figures.logs++
    for (const [name, count] of Object.entries(counts)) figures[name] += count
    if (faults.length > 0) return { failures: [{ kind: 'a broken condition', message: `log ${log}: ${faults[0]}` }], figures }
  }
  return { failures: [], figures }
}
