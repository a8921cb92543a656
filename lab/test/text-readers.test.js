'use strict'
// Other programs beside a writer of lines. `node lab/campaigns/text-readers` does more of it.

const tape = require('tape')
const { isThere, runTextReaders } = require('../campaigns/text-readers/run-text-readers')

const isAble = ['tail', 'grep'].every(isThere)

tape('text-readers: tail, grep, jq, Python and a shipper read every line once, while segments rotate', { skip: !isAble }, async (t) => {
  const seed = Date.now() % 2 ** 31
  const { faults, lines, segments } = await runTextReaders({ seconds: 4, rate: 600, seed })
  t.deepEqual(faults, [], `seed ${seed}`)
  t.ok(lines > 100 && segments >= 2, `${lines} lines, ${segments} segments`)
})
