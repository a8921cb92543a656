'use strict'
// Fills a store with all of the messages, for the jobs that read. Not measured.

const fs = require('node:fs')
const path = require('node:path')
const { readRecords } = require('./read-records')

const BATCH_COUNT = 1000

/** @typedef {import('./shapes').Peer} Peer */
/** @typedef {import('./shapes').Setting} Setting */

/**
 * @param {Peer} peer
 * @param {Setting} setting
 * @param {'binary' | 'json'} format
 */
async function fill (peer, { folder, logs }, format) {
  const records = await readRecords(logs[format])
  const store = await peer.open(folder, format === 'json' ? 'query' : 'append')
  for (let done = 0; done < records.length; done += BATCH_COUNT) {
    await store.append?.(records.slice(done, done + BATCH_COUNT))
  }
  await store.settle?.()
  if (format === 'binary') await writeKeys(store, folder, records.length)
  await store.close()
  syncAll(folder)
  return {}
}

/**
 * A key is found by reading the log once, which fills its cache: so it is done here, and not where it counts.
 * @param {import('./shapes').Store} store
 * @param {string} folder
 * @param {number} count
 */
async function writeKeys (store, folder, count) {
  const keys = await store.listKeys?.() ?? Array.from({ length: count }, (_, index) => index)
  if (keys.length !== count) throw new Error(`has ${keys.length} keys for ${count} records`)
  fs.writeFileSync(keysFile(folder), Float64Array.from(keys))
}

/**
 * @param {string} folder
 * @returns {Float64Array}
 */
function readKeys (folder) {
  const bytes = fs.readFileSync(keysFile(folder))
  return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
}

/** @param {string} folder */
function keysFile (folder) {
  return `${folder}.keys`
}

/**
 * What the kernel has yet to write would be written while others are measured.
 * @param {string} folder
 */
function syncAll (folder) {
  for (const name of fs.readdirSync(folder)) {
    const file = path.join(folder, name)
    if (!fs.statSync(file).isFile()) continue
    const fd = fs.openSync(file, 'r+')
    fs.fsyncSync(fd)
    fs.closeSync(fd)
  }
}

exports.fill = fill
exports.readKeys = readKeys
