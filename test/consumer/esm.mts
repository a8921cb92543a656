// An ES module that uses the packages. It is run, too.

import assert from 'node:assert'
import { OffsetLog } from '@millrace/offset-log'
import type { Codec } from '@millrace/offset-log'
import { jsonCodec } from '@millrace/json-codec'
import { binaryCodec } from '@millrace/binary-codec'
import { BlockFile } from '@millrace/block-file'
import { LogError, codes } from '@millrace/errors'
import { parseWhere } from '@millrace/where'
import { CrashPoint, temporaryFolder } from '@millrace/testkit'

interface Message { text: string, n: number }
// @ts-expect-error what a package exports is public, the files behind it are not
export type Inner = typeof import('@millrace/block-file/lib/storage')

const folder = temporaryFolder()
for (const codec of [jsonCodec, binaryCodec] satisfies Codec[]) {
  const log = OffsetLog<Message>(`${folder}/${codec.name}.log`, { codec })
  const first: number = await log.append({ text: 'one', n: 1 })
  await log.append([{ text: 'two', n: 2 }, { text: 'three', n: 3 }])
  assert.equal((await log.get(first)).text, 'one')

  const texts: string[] = []
  for await (const { value } of log.stream({ gt: first })) texts.push(value.text)
  for await (const { n } of log.stream({ seqs: false, where: { path: ['text'], equals: 'two' } })) texts.push(String(n))
  for await (const seq of log.stream({ values: false, limit: 1 })) assert.equal(seq, first)
  assert.deepEqual(texts, ['two', 'three', '2'])

  let count = 0
  const { lost } = await log.scan({}, (chunk) => { count += chunk.count })
  assert.deepEqual([count, lost.count], [3, 0])
  await log.del(first)
  const err = await log.get(first).catch((err: unknown) => err)
  assert(err instanceof LogError && err.code === 'flumelog:deleted' && codes[err.code])
  await log.close()
}

const file = new BlockFile(`${folder}/blocks.bin`)
await new Promise<void>((resolve, reject) => file.close((err) => err ? reject(err) : resolve()))
assert.equal(parseWhere([]).length, 0)
assert.equal(typeof CrashPoint, 'function')
console.log('esm well')
