'use strict'
// Deleted and synced means gone: the bytes are nowhere on the disk any more.

const { CrashPoint } = require('@millrace/testkit')
const { windowsOf } = require('./records')
const { Violation } = require('./violation')

/** @typedef {import('@millrace/testkit').SimulatedDisk} SimulatedDisk */

/**
 * @param {SimulatedDisk} disk  at rest
 * @param {Array<import('./ledger').RecordEntry>} records  deleted, and synced since
 * @throws {Violation}
 */
function checkErased (disk, records) {
  checkNowhere(() => everythingOn(disk), records)
}

/**
 * @param {() => Array<{ where: string, bytes: Buffer }>} findPlaces
 * @param {Array<import('./ledger').RecordEntry>} records  deleted, and synced since
 * @throws {Violation}
 */
function checkNowhere (findPlaces, records) {
  const windows = records.filter(({ kind }) => kind === 'random').flatMap(({ id, bytes }) => {
    return windowsOf(bytes).map((window) => ({ id, window }))
  })
  if (windows.length === 0) return
  for (const { where, bytes } of findPlaces()) {
    for (const { id, window } of windows) {
      const offset = bytes.indexOf(window)
      if (offset === -1) continue
      throw new Violation('deleted bytes left', `bytes of record ${id}, deleted and synced, are at ${offset} of ${where}`)
    }
  }
}

/** @param {SimulatedDisk} disk */
function everythingOn (disk) {
  const point = new CrashPoint(disk.clone())
  const durable = point.choose(point.none()).toDisk()
  return [
    ...disk.list().map((file) => ({ where: file, bytes: disk.read(file) })),
    ...durable.list().map((file) => ({ where: `${file} on the medium`, bytes: durable.read(file) })),
    ...point.sectors.flatMap(({ file, index, versions }) => versions.map((version) => {
      return { where: `unsynced sector ${index} of ${point.files[file].name}`, bytes: version.view() }
    }))
  ]
}

exports.checkErased = checkErased
exports.checkNowhere = checkNowhere
