'use strict'
// The rows of durable appends: each on stable storage before the next step, beside the same records in SQLite.

const fs = require('node:fs')
const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')
const { betterSqlite3, openDatabase } = require('./optional')
const { createRecords } = require('./records')

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what' | 'goal'>} row
 * @param {{ appenderCount: number, roundCount: number }} work  so many appenders at once, each so many records; in
 *   SQLite so many records a transaction, one transaction after the other
 * @returns {import('./shapes').Row}
 */
function createAppendRow (row, { appenderCount, roundCount }) {
  return {
    ...row,
    unit: 'ms',
    samples: 4,
    needs: betterSqlite3,
    prepare: ({ folder }) => ({ folder }),
    ours: { open: ({ folder }) => openLog(makeFolder(folder), { appenderCount, roundCount }) },
    peer: { open: ({ folder }) => openSqlite(makeFolder(folder), { appenderCount, roundCount }) }
  }
}

/** @param {string} folder */
function makeFolder (folder) {
  return fs.mkdtempSync(path.join(folder, 'append-'))
}

/**
 * @param {string} folder
 * @param {{ appenderCount: number, roundCount: number }} work
 * @returns {Promise<import('./shapes').Runner>}
 */
async function openLog (folder, { appenderCount, roundCount }) {
  const file = path.join(folder, 'append.log')
  const log = OffsetLog(file, { framing: 'checked', fsync: 'always' })
  await log.ready()
  const records = createRecords(appenderCount)
  const append = async (/** @type {Buffer} */ record) => {
    for (let left = roundCount; left > 0; left--) await log.append(record)
  }
  return {
    async sample () {
      const started = performance.now()
      await Promise.all(records.map(append))
      return performance.now() - started
    },
    async finish () {
      await log.close()
      const answer = await readBack(file)
      fs.rmSync(folder, { recursive: true })
      return answer
    }
  }
}

/** @param {string} file */
async function readBack (file) {
  const log = OffsetLog(file, { flags: 'r' })
  let [records, bytes] = [0, 0]
  await log.scan({}, (/** @type {import('@millrace/offset-log').Chunk} */ { count, starts, ends }) => {
    records += count
    for (let index = 0; index < count; index++) bytes += ends[index] - starts[index]
  })
  await log.close()
  return { records, bytes }
}

/**
 * WAL, and synchronous FULL, which syncs at every commit. The first sample brings its WAL to the length at which SQLite
 * begins to write it anew from the start, and is from then on faster: that is the state to be compared with.
 * @param {string} folder
 * @param {{ appenderCount: number, roundCount: number }} work
 * @returns {import('./shapes').Runner}
 */
function openSqlite (folder, { appenderCount, roundCount }) {
  const database = openDatabase(path.join(folder, 'append.db'))
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.exec('CREATE TABLE log (seq INTEGER PRIMARY KEY, record BLOB NOT NULL)')
  const insert = database.prepare('INSERT INTO log (record) VALUES (?)')
  const records = createRecords(appenderCount)
  const insertAll = database.transaction(() => { for (const record of records) insert.run(record) })
  // One record needs no transaction of its own around it: a statement is one.
  const commit = appenderCount === 1 ? () => insert.run(records[0]) : insertAll
  return {
    sample () {
      const started = performance.now()
      for (let left = roundCount; left > 0; left--) commit()
      return performance.now() - started
    },
    finish () {
      const { records, bytes } = database.prepare('SELECT count(*) records, sum(length(record)) bytes FROM log').get()
      database.close()
      fs.rmSync(folder, { recursive: true })
      return { records, bytes }
    }
  }
}

exports.createAppendRow = createAppendRow
