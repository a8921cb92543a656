'use strict'
// Leaves the records that a filter wants in a chunk. What a codec compiled is not ours: whatever it throws gets a code.

const { LogError, reasonOf } = require('@millrace/errors')

/**
 * @param {{ applyFilter: () => void }} reader  that delivered the chunk
 * @param {import('./codec').RecordCodec} codec
 * @returns {LogError | null}  ERR_CODEC_DECODE
 */
function applyFilter (reader, codec) {
  try {
    reader.applyFilter()
    return null
  } catch (err) {
    if (err instanceof LogError) return err
    return new LogError('ERR_CODEC_DECODE', `the filter that the codec ${codec.name} compiled has failed: ${reasonOf(err)}`,
      { cause: err })
  }
}

exports.applyFilter = applyFilter
