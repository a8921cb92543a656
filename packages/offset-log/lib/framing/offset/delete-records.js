'use strict'
// Erases records: in the legacy framings, by zeros over their data.

const { eachInOrder } = require('@millrace/flow')
const { HEAD_SIZE } = require('./offset-framing')
const { readRecord } = require('./read-record')

/** @typedef {import('./offset-store').OffsetStore} OffsetStore */

/**
 * Every seq is looked up before any byte is written, so a wrong one among many deletes nothing. Deleting what is
 * deleted already is no error.
 * @param {OffsetStore} store
 * @param {number[]} seqs
 * @param {(err: Error | null) => void} cb
 */
function deleteRecords (store, seqs, cb) {
  findUndeleted(store, seqs, (err, found) => {
    if (err || !found) return cb(err)
    eraseAll(store, found, cb)
  })
}

/**
 * @typedef {{ seq: number, size: number }} Erasable
 * @param {OffsetStore} store
 * @param {number[]} seqs
 * @param {(err: Error | null, found?: Erasable[]) => void} cb
 */
function findUndeleted (store, seqs, cb) {
  /** @type {Erasable[]} */
  const found = []
  eachInOrder(seqs, (seq, next) => {
    readRecord(store, seq, 'del', (err, record) => {
      if (record && !record.isDeleted) found.push({ seq, size: record.data.length })
      next(err)
    })
  }, (err) => cb(err, found))
}

/**
 * @param {OffsetStore} store
 * @param {Erasable[]} found
 * @param {(err: Error | null) => void} cb
 */
function eraseAll ({ blocks }, found, cb) {
  eachInOrder(found, ({ seq, size }, next) => blocks.write(Buffer.alloc(size), seq + HEAD_SIZE, next), cb)
}

exports.deleteRecords = deleteRecords
