'use strict'
// What rows are prepared with: the logs of the bench, found once, and a folder for what they make themselves.

const fs = require('node:fs')
const path = require('node:path')
const { createInputs } = require('../../lib/inputs')
const { pickLayers } = require('../../lib/registry')
const { findSource } = require('../../lib/source')
const { measureLog } = require('./scan-log')

/** @typedef {import('./shapes').Context} Context */
/** @typedef {import('./shapes').FoundLog} FoundLog */
/** @typedef {import('../../lib/source').Source} Source */

const LAYERS = { json: 'log', binary: 'stream' }

/**
 * @typedef {object} Contexts
 * @property {(name: string) => Context} create  for the row of that name
 * @property {() => Source | undefined} source  what was read, if anything was
 * @property {() => void} remove  the folders of all rows
 */

/**
 * @param {number} records  of the generated log
 * @param {string} folder  where made logs are kept
 * @returns {Contexts}
 */
function createContexts (records, folder) {
  const work = path.join(folder, `limits-${process.pid}`)
  const remove = () => fs.rmSync(work, { recursive: true, force: true })
  process.once('exit', remove)
  /** @type {Source | undefined} */
  let source
  /** @type {Map<string, FoundLog>} */
  const found = new Map()

  /** @type {Context['findLog']} */
  async function findLog (log, framing) {
    const key = `${log} ${framing}`
    const known = found.get(key)
    if (known) return known
    source ??= await findSource({ records, file: undefined }, folder)
    const inputs = createInputs(source, folder)
    const [layer] = pickLayers([LAYERS[log]])
    const one = /** @type {import('../../lib/shapes').Case} */ ({ layer, stack: { framing } })
    await inputs.prepare([one])
    const { path: file } = inputs.find(one)
    const { records: count, delivered, digest } = await measureLog(source[log])
    const result = { path: file, expected: { records: count, delivered, digest } }
    found.set(key, result)
    return result
  }

  return {
    create (name) {
      const own = path.join(work, name)
      fs.mkdirSync(own, { recursive: true })
      return { folder: own, findLog }
    },
    source: () => source,
    remove
  }
}

exports.createContexts = createContexts
