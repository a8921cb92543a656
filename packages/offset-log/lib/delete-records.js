'use strict'
// Erases records: in the legacy framings, by zeros over their data.

const { trampoline } = require('@millrace/block-file')
const { misuse } = require('@millrace/errors')
const { HEAD_SIZE } = require('./framing/offset-framing')
const { readRecord } = require('./read-record')

/** @typedef {import('./log-file').LogFile} LogFile */

/**
 * Every seq is looked up before any byte is written, so a wrong one among many deletes nothing. Deleting what is
 * deleted already is no error.
 * @param {LogFile} file
 * @param {number | number[]} seqs
 * @param {(err: Error | null) => void} cb
 */
function deleteRecords (file, seqs, cb) {
  if (typeof seqs !== 'number' && !Array.isArray(seqs)) {
    return cb(misuse(`del: expected a seq or an array of them, got ${typeof seqs}`))
  }
  const list = typeof seqs === 'number' ? [seqs] : [...seqs]
  findUndeleted(file, list, (err, found) => {
    if (err || !found) return cb(err)
    eraseAll(file, found, cb)
  })
}

/**
 * @typedef {{ seq: number, size: number }} Erasable
 * @param {LogFile} file
 * @param {number[]} seqs
 * @param {(err: Error | null, found?: Erasable[]) => void} cb
 */
function findUndeleted (file, seqs, cb) {
  /** @type {Erasable[]} */
  const found = []
  forEachAsync(seqs, (seq, next) => {
    readRecord(file, seq, (err, record) => {
      if (record && !record.isDeleted) found.push({ seq, size: record.data.length })
      next(err)
    })
  }, (err) => cb(err, found))
}

/**
 * @param {LogFile} file
 * @param {Erasable[]} found
 * @param {(err: Error | null) => void} cb
 */
function eraseAll ({ blocks }, found, cb) {
  forEachAsync(found, ({ seq, size }, next) => blocks.write(Buffer.alloc(size), seq + HEAD_SIZE, next), cb)
}

/**
 * @template T
 * @param {T[]} list
 * @param {(item: T, next: (err: Error | null) => void) => void} visit
 * @param {(err: Error | null) => void} cb
 */
function forEachAsync (list, visit, cb) {
  let index = 0
  trampoline((again) => {
    if (index === list.length) return cb(null)
    visit(list[index++], (err) => err ? cb(err) : again())
  })
}

exports.deleteRecords = deleteRecords
