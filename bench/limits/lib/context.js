'use strict'
// What rows are prepared with: the logs of the bench, found once, and a folder for what they make themselves.

const fs = require('node:fs')
const path = require('node:path')
const { createInputs } = require('../../lib/inputs')
const { pickLayers } = require('../../lib/registry')
const { findSource } = require('../../lib/source')
const { createQueries, findAnswers } = require('./queries')
const { measureLog } = require('./scan-log')

/** @typedef {import('./shapes').Context} Context */
/** @typedef {import('./shapes').FoundLog} FoundLog */
/** @typedef {import('../../lib/source').Source} Source */

const LAYERS = { json: 'log', binary: 'stream' }

/**
 * @typedef {object} Contexts
 * @property {(name: string) => Context} create  for the row of that name
 * @property {() => Source | undefined} source  what was read, if anything was
 */

/**
 * @param {number} records  of the generated log
 * @param {string} folder  where made logs are kept
 * @param {string} work  where each row has a folder
 * @returns {Contexts}
 */
function createContexts (records, folder, work) {
  /** @type {Source | undefined} */
  let source
  /** @type {Awaited<ReturnType<typeof findAnswers>> | undefined} */
  let answers
  /** @type {Map<string, FoundLog>} */
  const found = new Map()

  /** @type {Context['findLog']} */
  async function findLog (log, framing, query) {
    const key = `${log} ${framing}`
    const whole = found.get(key) ?? await findWhole(log, framing)
    found.set(key, whole)
    if (query === undefined) return whole
    const { json, query: root } = /** @type {Source} */ (source)
    const queries = createQueries(root)
    answers ??= await findAnswers(json, queries)
    return { ...whole, where: queries[query], expected: answers[query] }
  }

  /**
   * @param {'json' | 'binary'} log
   * @param {string} framing
   * @returns {Promise<FoundLog>}
   */
  async function findWhole (log, framing) {
    source ??= await findSource({ records, file: undefined }, folder)
    const inputs = createInputs(source, folder)
    const [layer] = pickLayers([LAYERS[log]])
    const one = /** @type {import('../../lib/shapes').Case} */ ({ layer, stack: { framing } })
    await inputs.prepare([one])
    const { path: file } = inputs.find(one)
    const { records: count, delivered, digest } = await measureLog(source[log])
    return { path: file, root: source.query, expected: { records: count, delivered, digest } }
  }

  return {
    create (name) {
      const own = path.join(work, name)
      fs.mkdirSync(own, { recursive: true })
      return { folder: own, records, findLog }
    },
    source: () => source
  }
}

exports.createContexts = createContexts
