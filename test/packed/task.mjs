// The task of a scan over threads, to be bundled: it counts.

import { binaryCodec } from '@millrace/binary-codec'

export default () => {
  let count = 0
  return { codec: binaryCodec, onRecords: (records) => { count += records.count }, end: () => count }
}
