'use strict'
// A task: every record of a part, by its seq, its size and a sum of its bytes.

module.exports = ({ codec } = {}) => {
  const records = []
  return {
    ...(codec && { codec: require(codec).jsonCodec }),
    onRecords ({ buffer, count, seqs, starts, ends }) {
      for (let index = 0; index < count; index++) {
        let sum = 0
        for (let at = starts[index]; at < ends[index]; at++) sum = (sum * 31 + buffer[at]) | 0
        records.push([seqs[index], ends[index] - starts[index], sum])
      }
    },
    end: () => records
  }
}
