'use strict'
// What is read of a file, by a storage in between: a hostile one must not make anybody read it over and over.

const { fileStorage } = require('@millrace/block-file')
const { faultyStorage } = require('@millrace/testkit')

function countReads () {
  const counted = { bytes: 0 }
  const count = ({ name, length }) => { if (name.startsWith('read')) counted.bytes += length }
  return { counted, storage: faultyStorage(fileStorage, count) }
}

exports.countReads = countReads
