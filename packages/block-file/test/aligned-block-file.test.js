'use strict'
// Beside the package that block-file succeeds: the same calls, the same answers, the same file.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const AlignedBlockFile = require('aligned-block-file')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { BlockFile } = require('..')

tape('aligned-block-file: the same work gives the same answers and the same bytes', async (t) => {
  const folder = temporaryFolder()
  const [ours, theirs] = ['ours', 'theirs'].map((name) => path.join(folder, name))
  const answers = []
  for (const blocks of [BlockFile(ours, { blockSize: 32 }), AlignedBlockFile(theirs, 32, 'r+')]) {
    const call = (name, ...args) => promisify(blocks[name].bind(blocks))(...args)
    const numbers = Buffer.from('00000007000000000102000000000000ff01', 'hex')
    const found = [await call('append', Buffer.alloc(50, 'abc')), await call('append', numbers)]
    for (const [start, end] of [[0, 10], [30, 40], [0, 68], [67, 68]]) found.push(await call('read', start, end))
    found.push(await call('readUInt32BE', 50), await call('readUInt48BE', 54))
    found.push(await call(blocks.readUInt53BE ? 'readUInt53BE' : 'readUInt64BE', 60))
    await call('write', Buffer.from('over'), 10)
    found.push(await call('read', 0, 20))
    await call('truncate', 60)
    found.push(await call('append', Buffer.from('end')))
    if (blocks.close) await call('close')
    answers.push(found)
  }
  t.deepEqual(answers[0], answers[1])
  t.deepEqual(fs.readFileSync(ours), fs.readFileSync(theirs))
})
