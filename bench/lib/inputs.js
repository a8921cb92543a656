'use strict'
// Which file each case reads: a whole log or its first 64 MiB, in the framing that the stack reads.

const fs = require('node:fs')
const path = require('node:path')
const { findLastEnd } = require('./offset32')
const { createProgress } = require('./progress')
const { writeWhole } = require('./work-file')
const { copyLog } = require('./write-logs')

const PREFIX_SIZE = 64 * 1024 * 1024
// What findSource makes, and the only framing that a prefix can be cut in.
const SOURCE_FRAMING = 'offset32'
const WARM_SIZE = 1024 * 1024

/** @typedef {import('./shapes').Case} Case */

/**
 * @typedef {object} Inputs
 * @property {(layer: import('./shapes').Layer) => boolean} isLong  whether its log is longer than a prefix
 * @property {(cases: Case[]) => Promise<void>} prepare  makes what is missing, and brings it all into the page cache
 * @property {(one: Case) => { path: string, query: string }} find
 * @property {(one: Case) => number} wholeSize  bytes of the log that the case reads, or reads the beginning of
 */

/**
 * @param {import('./source').Source} source
 * @param {string} folder  where made files are kept
 * @returns {Inputs}
 */
function createInputs (source, folder) {
  /** @type {Inputs['prepare']} */
  async function prepare (cases) {
    /** @type {Map<string, Case>} */
    const needed = new Map()
    for (const one of cases) needed.set(pathOf(one), one)
    for (const one of needed.values()) {
      if (!fs.existsSync(wholePathOf(one))) await convert(source[one.layer.log], wholePathOf(one), one.stack.framing)
      if (!fs.existsSync(pathOf(one))) await cutPrefix(wholePathOf(one), pathOf(one))
    }
    for (const file of needed.keys()) warm(file)
  }

  /** @param {Case} one */
  function pathOf (one) {
    if (!one.prefix) return wholePathOf(one)
    if (one.stack.framing !== SOURCE_FRAMING) throw new Error(`a log in ${one.stack.framing} has no prefix: ${one.stack.name}`)
    return path.join(folder, `${source.name}.${one.layer.log}.64MiB.${SOURCE_FRAMING}`)
  }

  /** @param {Case} one */
  function wholePathOf ({ layer, stack }) {
    if (stack.framing === SOURCE_FRAMING) return source[layer.log]
    return path.join(folder, `${source.name}.${layer.log}.${stack.framing}`)
  }

  return {
    prepare,
    isLong: (layer) => fs.statSync(source[layer.log]).size > PREFIX_SIZE,
    find: (one) => ({ path: pathOf(one), query: source.query }),
    wholeSize: (one) => fs.statSync(wholePathOf(one)).size
  }
}

/**
 * @param {string} from
 * @param {string} to
 * @param {import('@millrace/offset-log').FramingName} framing
 */
async function convert (from, to, framing) {
  const progress = createProgress(`copying to ${framing}`, fs.statSync(from).size)
  await writeWhole([to], ([draft]) => copyLog(from, draft, framing, progress))
  progress.end()
}

/**
 * A prefix that ends where a record ends is a log like any other: no stack needs to know that it is a prefix.
 * @param {string} from
 * @param {string} to
 */
async function cutPrefix (from, to) {
  const buf = Buffer.alloc(PREFIX_SIZE)
  const fd = fs.openSync(from, 'r')
  const bytesRead = fs.readSync(fd, buf, 0, PREFIX_SIZE, 0)
  fs.closeSync(fd)
  const prefix = buf.subarray(0, findLastEnd(buf.subarray(0, bytesRead)))
  await writeWhole([to], async ([draft]) => fs.writeFileSync(draft, prefix))
}

/**
 * Reads a file once, so that the first measurement finds it in the page cache as all later ones do.
 * @param {string} file
 */
function warm (file) {
  const buf = Buffer.alloc(WARM_SIZE)
  const fd = fs.openSync(file, 'r')
  while (fs.readSync(fd, buf, 0, WARM_SIZE, null) > 0);
  fs.closeSync(fd)
}

exports.createInputs = createInputs
