'use strict'

const tape = require('tape')
const { parseWhere, matches } = require('..')

const holds = (where, value) => matches(parseWhere(where), value)

tape('matches: follows nested keys and compares with ===', (t) => {
  const value = { value: { content: { root: '%x', n: 3, no: false, nil: null } } }
  t.ok(holds({ path: ['value', 'content', 'root'], equals: '%x' }, value))
  t.ok(holds({ path: ['value', 'content', 'n'], equals: 3 }, value))
  t.ok(holds({ path: ['value', 'content', 'no'], equals: false }, value))
  t.ok(holds({ path: ['value', 'content', 'nil'], equals: null }, value))
  t.notOk(holds({ path: ['value', 'content', 'n'], equals: '3' }, value))
  t.notOk(holds({ path: ['value', 'content', 'absent'], equals: null }, value))
  t.end()
})

tape('matches: a list means all of them, an empty list holds always', (t) => {
  t.ok(holds([{ path: ['a'], equals: 1 }, { path: ['b'], equals: 2 }], { a: 1, b: 2 }))
  t.notOk(holds([{ path: ['a'], equals: 1 }, { path: ['b'], equals: 3 }], { a: 1, b: 2 }))
  t.ok(holds([], 'anything'))
  t.end()
})

tape('matches: an empty path means the record itself', (t) => {
  t.ok(holds({ path: [], equals: 'x' }, 'x'))
  t.notOk(holds({ path: [], equals: 'x' }, { x: 'x' }))
  t.end()
})

tape('matches: does not follow prototypes, arrays, buffers or strings', (t) => {
  t.notOk(holds({ path: ['constructor', 'name'], equals: 'Object' }, {}))
  t.notOk(holds({ path: ['length'], equals: 2 }, [1, 2]))
  t.notOk(holds({ path: ['0'], equals: 1 }, [1, 2]))
  t.notOk(holds({ path: ['length'], equals: 1 }, 'x'))
  t.notOk(holds({ path: ['0'], equals: 1 }, Buffer.from([1])))
  t.ok(holds({ path: ['__proto__'], equals: 1 }, JSON.parse('{"__proto__":1}')))
  t.end()
})

tape('parseWhere: refuses what is not a filter, with a code', (t) => {
  const cyclic = {}
  cyclic.self = cyclic
  const bad = [undefined, null, 'x', 5, {}, { path: ['a'] }, { path: 'a', equals: 1 }, { path: [1], equals: 1 },
    { path: ['a'], equals: {} }, { path: ['a'], equals: NaN }, { path: ['a'], equals: undefined },
    { path: ['a'], equals: 1n }, { path: ['a'], equals: cyclic }, [null]]
  for (const where of bad) {
    try {
      parseWhere(where)
      t.fail('accepted')
    } catch (err) {
      t.ok(err instanceof TypeError && err.code === 'ERR_INVALID_ARGUMENT', err.message)
    }
  }
  t.end()
})

tape('parseWhere: copies, so that later changes do not matter', (t) => {
  const path = ['a']
  const conditions = parseWhere({ path, equals: 1 })
  path.push('b')
  t.deepEqual(conditions, [{ path: ['a'], equals: 1 }])
  t.end()
})
