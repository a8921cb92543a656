'use strict'
// Logs that a fuzzer made, and that verify once never came to the end of.

const fs = require('node:fs')
const path = require('node:path')
const zlib = require('node:zlib')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { repair, verify } = require('..')

tape('verify: a chunk that was never promised and does not fit is where the log ends', async (t) => {
  const packed = [
    '7d29K4VhFADw815XPiJZlYlklDCJjZKumVKUwSCTSdGVQaT8E_4A212ot-RrtInJIqTUTVm5b91LdzSh3284nZ6nnuFsT6fO2Z2Y',
    'nmxv7WqNJJLXnsON7jrxqRhJfnlxdSnqPJeH2wIAAAD49dbaj5-ypCkikuy3X6jE7aNK3Eqzu1xL6b1frQAAAOCv2tX_BwAAgH_v',
    '_nrzKkuaa_3_9a9Y7f-fjswfqhUAAAAAAAAAAAAAAAAAAAAAAAAA_NTtw0GpY39_NPoiV5sAGLWY7QSobP8rRjRmx2kkexHRuTN2',
    'VjqeWhnofZy9fBmfnjlPI7mpzAkcfJs7ify3dwpfeXWPYBoLcTF0V274AA'
  ].join('')
  const file = path.join(temporaryFolder(), 'log')
  fs.writeFileSync(file, zlib.inflateRawSync(Buffer.from(packed, 'base64url')))
  const report = await verify(file)
  t.ok(report.end <= report.size)
  await repair(file, `${file}.out`, { write: true })
  t.ok((await verify(`${file}.out`)).isSound)
})
