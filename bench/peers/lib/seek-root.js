'use strict'
// The query of those who keep binary records: bipf.seekKey, field by field, without decoding the rest.

const { load } = require('./load')

/**
 * Keys and query are encoded once: bipf would do it again for each record.
 * @param {string} root
 * @returns {(record: Buffer) => boolean}
 */
function createSeekRoot (root) {
  const bipf = load('bipf')
  const [valueKey, contentKey, rootKey, wanted] = ['value', 'content', 'root', root].map((text) => Buffer.from(text))
  return (record) => {
    const value = bipf.seekKey(record, 0, valueKey)
    const found = bipf.seekKey(record, bipf.seekKey(record, value, contentKey), rootKey)
    return found !== -1 && bipf.compareString(record, found, wanted) === 0
  }
}

exports.createSeekRoot = createSeekRoot
