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

tape('matches: what is there exists, whatever it is', (t) => {
  const value = { nil: null, no: false, zero: 0, empty: '', list: [], undef: undefined, deep: { '': { 'a.b': 1 } } }
  for (const key of Object.keys(value)) {
    t.ok(holds({ path: [key], exists: true }, value), key)
    t.notOk(holds({ path: [key], exists: false }, value), `${key}, asked for its absence`)
  }
  t.ok(holds({ path: ['deep', '', 'a.b'], exists: true }, value))
  t.notOk(holds({ path: ['deep', '', 'a', 'b'], exists: true }, value), 'a dot in a key is no step')
  t.end()
})

tape('matches: what is not there does not exist, nor what is in what is no object', (t) => {
  const value = { nil: null, list: ['x'], text: 'x', bytes: Buffer.from('x') }
  const absent = [['other'], ['nil', 'x'], ['list', '0'], ['list', 'length'], ['text', '0'], ['text', 'length'],
    ['bytes', '0'], ['__proto__'], ['constructor'], ['toString', 'name'], ['other', 'x']]
  for (const path of absent) {
    t.ok(holds({ path, exists: false }, value), path.join('/'))
    t.notOk(holds({ path, exists: true }, value), path.join('/'))
  }
  t.ok(holds({ path: ['__proto__'], exists: true }, JSON.parse('{"__proto__":null}')))
  t.end()
})

tape('matches: the record itself exists', (t) => {
  for (const value of [null, undefined, 0, '', {}, []]) {
    t.ok(holds({ path: [], exists: true }, value))
    t.notOk(holds({ path: [], exists: false }, value))
  }
  t.end()
})

tape('matches: presence beside equality', (t) => {
  const where = [{ path: ['type'], equals: 'post' }, { path: ['root'], exists: false }]
  t.ok(holds(where, { type: 'post' }))
  t.notOk(holds(where, { type: 'post', root: null }))
  t.notOk(holds(where, { type: 'vote' }))
  t.end()
})

tape('parseWhere: gives back each kind of condition as it was, and takes what it gave', (t) => {
  const where = [{ path: ['a'], equals: null }, { path: ['b'], exists: true }, { path: [], exists: false }]
  t.deepEqual(parseWhere(where), where)
  t.deepEqual(parseWhere(parseWhere(where)), where)
  t.end()
})

tape('parseWhere: refuses what is not a filter, with a code', (t) => {
  const cyclic = {}
  cyclic.self = cyclic
  const bad = [undefined, null, 'x', 5, {}, { path: ['a'] }, { path: 'a', equals: 1 }, { path: [1], equals: 1 },
    { path: ['a'], equals: {} }, { path: ['a'], equals: NaN }, { path: ['a'], equals: undefined },
    { path: ['a'], equals: 1n }, { path: ['a'], equals: cyclic }, [null],
    { path: ['a'], equals: 1, exists: true }, { path: ['a'], equals: null, exists: false }, { exists: true },
    { path: ['a'], exists: 1 }, { path: ['a'], exists: null }, { path: ['a'], exists: undefined },
    { path: ['a'], exists: 'true' }, { path: 'a', exists: true }, { path: ['a'], exists: true, equals: undefined },
    { path: ['a'], equals: { $exists: true } }, { path: [0], exists: true }]
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

tape('parseWhere: a hole in a list, or in a path, is misuse', (t) => {
  const condition = { path: ['a'], equals: 1 }
  const paths = [new Array(1), Object.assign(new Array(2), ['a'])].map((path) => ({ path, equals: 1 }))
  const lists = [Object.assign(new Array(2), { 1: condition }), Object.assign(new Array(2), [condition]), new Array(3)]
  for (const where of [...lists, ...paths]) {
    t.throws(() => parseWhere(where), { code: 'ERR_INVALID_ARGUMENT' })
  }
  t.end()
})
