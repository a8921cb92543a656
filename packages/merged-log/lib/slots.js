'use strict'
// The names in the folder of the slots. A slot is a folder with a number as its name, which holds a segmented log.

const path = require('node:path')
const { LogError } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')
const { parseNames, slotsError } = require('@millrace/segmented-log')

/** @typedef {import('@millrace/block-file').Storage} Storage */

/** @type {(folder: string, slot: number | 'N') => string} */
function slotPath (folder, slot) {
  return path.join(folder, String(slot))
}

/** In order; none if the folder does not exist. @type {(folder: string, storage: Storage) => Promise<number[]>} */
async function listSlots (folder, storage) {
  return parseNames(await listNames(folder, storage)).slots
}

/**
 * As `listSlots`, if the folder has no segments, which no reader of slots would see.
 * @type {(folder: string, storage: Storage) => Promise<number[]>}
 * @throws ERR_LOG_UNKNOWN_FORMAT
 */
async function listOnlySlots (folder, storage) {
  const names = await listNames(folder, storage)
  const err = slotsError(folder, names)
  if (err !== null) throw err
  return parseNames(names).slots
}

/** @type {(folder: string, storage: Storage) => Promise<string[]>} */
async function listNames (folder, storage) {
  if (!storage.listFolder) {
    throw new LogError('ERR_NOT_SUPPORTED', 'open: the storage cannot list a folder; give it the function listFolder')
  }
  try {
    return await promisesOf(storage).listFolder(folder)
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') return []
    throw err
  }
}

exports.listNames = listNames
exports.listOnlySlots = listOnlySlots
exports.listSlots = listSlots
exports.slotPath = slotPath
