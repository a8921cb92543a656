'use strict'
// What a row may need and that need not be there: packages, as a rule. Each check uses its package: one may be
// installed without the part that was to be compiled.

const os = require('node:os')

// A name that the type checker cannot follow: it would look for packages that may be absent.
const load = (/** @type {string} */ name) => require(name)

/** @type {NonNullable<import('./shapes').Row['needs']>} */
exports.nodeRsCrc32 = {
  '@node-rs/crc32': () => load('@node-rs/crc32').crc32(Buffer.from('any'))
}

/** @type {NonNullable<import('./shapes').Row['needs']>} */
exports.betterSqlite3 = {
  'better-sqlite3': () => openDatabase(':memory:').close()
}

/** @type {NonNullable<import('./shapes').Row['needs']>} */
exports.lmdb = { lmdb: () => load('lmdb').open }

/** @type {NonNullable<import('./shapes').Row['needs']>} */
exports.classicLevel = { 'classic-level': () => load('classic-level').ClassicLevel }

/** @type {NonNullable<import('./shapes').Row['needs']>} */
exports.secondCore = {
  'a second core': () => {
    if (os.availableParallelism() < 2) throw new Error('there is one')
  }
}

/**
 * @param {string} file
 * @returns {any}  a database of better-sqlite3
 */
function openDatabase (file) {
  const Database = load('better-sqlite3')
  return new Database(file)
}

exports.openDatabase = openDatabase
