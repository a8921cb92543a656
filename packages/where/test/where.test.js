'use strict'

const tape = require('tape')
const { createMatch, parseWhere, matches } = require('..')

const holds = (where, value) => {
  const filters = parseWhere(where)
  const answer = matches(filters, value)
  if (createMatch(filters)(value) !== answer) throw new Error('prepared it answers otherwise')
  return answer
}

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

tape('parseWhere: equality by a path as text, which has a way of its own, is parsed as other conditions are', (t) => {
  for (const path of ['a', 'a.b', 'a.0.b', 'é', '__proto__', '', 'a..b', '.', 5, null, ['a'], undefined]) {
    for (const equals of ['x', '', 0, -0, 1.5, true, null, NaN, Infinity, undefined, {}, []]) {
      const parse = (filter) => {
        try {
          return parseWhere(filter)[0]
        } catch ({ code }) {
          return { code }
        }
      }
      // `in` takes the long way.
      const { code, in: values, path: steps } = parse({ path, in: [equals] })
      const expected = code === undefined ? { path: steps, equals: values[0] } : { code }
      t.deepEqual(parse({ path, equals }), expected, `${String(path)} ${String(equals)}`)
    }
  }
  t.throws(() => parseWhere({ path: 'a', equals: 1, prefix: 'x' }), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => parseWhere({ path: 'a', equals: 1, all: [] }), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('parseWhere: refuses what is not a filter, with a code', (t) => {
  const cyclic = {}
  cyclic.self = cyclic
  const bad = [undefined, null, 'x', 5, {}, { path: ['a'] }, { path: '', equals: 1 }, { path: [-1], equals: 1 },
    { path: ['a'], equals: {} }, { path: ['a'], equals: NaN }, { path: ['a'], equals: undefined },
    { path: ['a'], equals: 1n }, { path: ['a'], equals: cyclic }, [null],
    { path: ['a'], equals: 1, exists: true }, { path: ['a'], equals: null, exists: false }, { exists: true },
    { path: ['a'], exists: 1 }, { path: ['a'], exists: null }, { path: ['a'], exists: undefined },
    { path: ['a'], exists: 'true' }, { path: 'a.', exists: true }, { path: ['a'], exists: true, equals: undefined },
    { path: ['a'], equals: { $exists: true } }, { path: [0.5], exists: true }, { path: ['a', 2 ** 32], exists: true },
    { path: ['a'], gt: NaN }, { path: ['a'], gt: true }, { path: ['a'], lt: null }, { path: ['a'], gt: 1, gte: 1 },
    { path: ['a'], lt: 'a', lte: 'b' }, { path: ['a'], gt: 1, lt: 'b' }, { path: ['a'], gt: 1, equals: 2 },
    { path: ['a'], gt: 1, lt: undefined }, { path: ['a'], gt: new Date(0) }, { path: ['a'], gt: 1n },
    { path: ['a'], in: 'ab' }, { path: ['a'], in: [NaN] }, { path: ['a'], in: [[]] }, { path: ['a'], in: new Array(2) },
    { path: ['a'], prefix: 1 }, { path: ['a'], prefix: null }, { path: ['a'], includes: undefined }, { path: ['a'], includes: NaN },
    { path: ['a'], includes: {} }, { path: ['a'], includes: { path: [], equals: {} } }, { any: { path: ['a'], equals: 1 } },
    { any: [1] }, { all: null }, { not: undefined }, { any: [], all: [] }, { not: [], path: ['a'], equals: 1 },
    { path: ['a'], equals: 1, note: 'x' }, JSON.parse('{"path":["a"],"equals":1,"__proto__":{}}'), () => {}, Symbol('x')]
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

tape('parseWhere: what a caller does to the steps of a path as text is not in the next filter', (t) => {
  for (let time = 0; time < 3; time++) {
    const [{ path }] = parseWhere({ path: 'a.0', equals: 1 })
    t.deepEqual(path, ['a', 0])
    path.push('b')
  }
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

tape('parseWhere: a path as text has dots between its keys, and digits for indexes', (t) => {
  const pathOf = (path) => parseWhere({ path, exists: true })[0].path
  t.deepEqual(pathOf('a.b.0'), ['a', 'b', 0])
  t.deepEqual(pathOf('0'), [0])
  t.deepEqual(pathOf('a.01.-1.1e2.4294967294.4294967295'), ['a', '01', '-1', '1e2', 4294967294, '4294967295'])
  t.deepEqual(pathOf('__proto__.constructor'), ['__proto__', 'constructor'])
  t.end()
})

tape('matches: a number in a path is an index, or the key of its digits; a string is no index', (t) => {
  const value = { list: ['x', { b: 1 }, undefined], keyed: { 0: 'y', '01': 'z' } }
  t.ok(holds({ path: 'list.0', equals: 'x' }, value))
  t.ok(holds({ path: ['list', 1, 'b'], equals: 1 }, value))
  t.ok(holds({ path: 'keyed.0', equals: 'y' }, value))
  t.ok(holds({ path: 'keyed.01', equals: 'z' }, value))
  t.ok(holds({ path: 'list.2', exists: true }, value))
  t.ok(holds({ path: 'list.3', exists: false }, value))
  t.ok(holds({ path: ['list', '0'], exists: false }, value))
  t.ok(holds({ path: [0], exists: false }, 'text'))
  t.ok(holds({ path: [0], exists: false }, Buffer.from('text')))
  t.end()
})

tape('matches: bounds order numbers by value and strings by code points, and nothing else', (t) => {
  const inOrder = [[-Infinity, -1e308, -1, -0, 1e-300, 1, 2 ** 53, 1e308, Infinity],
    ['', '\u0000', 'A', 'a', 'aa', 'b', 'é', '\ud7ff', '\ud83d', '\ud83d!', '\ude00', '\ue000', '\uffff', '😀', '😁', '😁a']]
  for (const kind of inOrder) {
    for (const [i, bound] of kind.entries()) {
      for (const [j, value] of kind.entries()) {
        const answers = [['gt', j > i], ['gte', j >= i], ['lt', j < i], ['lte', j <= i]]
        const wrong = answers.filter(([name, expected]) => holds({ path: 'a', [name]: bound }, { a: value }) !== expected)
        t.deepEqual(wrong, [], `${value} beside ${bound}`)
      }
    }
  }
  const others = [null, true, false, NaN, undefined, 5n, new Date(5), [5], ['5'], { a: 5 }, Buffer.from('5')]
  for (const value of others) {
    for (const bound of [-Infinity, 0, Infinity, '', '5']) {
      const held = ['gt', 'gte', 'lt', 'lte'].filter((name) => holds({ path: [], [name]: bound }, value))
      t.deepEqual(held, [], `${typeof value} beside ${bound}`)
    }
  }
  t.ok(holds({ path: 'a', gte: 0, lte: 0 }, { a: -0 }), '-0 is 0')
  t.notOk(holds({ path: 'a', gt: 4 }, { a: '5' }), 'a string is no number')
  t.ok(holds({ path: 'a', gt: 1, lt: 3 }, { a: 2 }))
  t.notOk(holds({ path: 'a', gt: 1, lt: 2 }, { a: 2 }))
  t.end()
})

tape('matches: in, prefix and includes', (t) => {
  t.ok(holds({ path: 'a', in: ['x', 0, null] }, { a: -0 }))
  t.ok(holds({ path: 'a', in: ['x', 0, null] }, { a: null }))
  t.notOk(holds({ path: 'a', in: ['x', 0, null] }, {}))
  t.notOk(holds({ path: 'a', in: [] }, { a: null }))
  t.ok(holds({ path: 'a', prefix: 'ab' }, { a: 'abc' }))
  t.ok(holds({ path: 'a', prefix: '' }, { a: '' }))
  t.notOk(holds({ path: 'a', prefix: 'ab' }, { a: 'a' }))
  t.notOk(holds({ path: 'a', prefix: '' }, { a: ['x'] }))
  t.ok(holds({ path: 'a', includes: 1 }, { a: [2, 1] }))
  t.notOk(holds({ path: 'a', includes: 'x' }, { a: 'xyz' }), 'a part of a string is no element')
  t.notOk(holds({ path: 'a', includes: 1 }, { a: { 0: 1 } }))
  t.notOk(holds({ path: 'a', includes: 1 }, { a: Uint8Array.of(1) }))
  const linked = { path: 'mentions', includes: { path: 'link', equals: '%x' } }
  t.ok(holds(linked, { mentions: [{ link: '%y' }, { link: '%x' }] }))
  t.notOk(holds(linked, { mentions: [{ name: '%x' }] }))
  t.ok(holds({ path: [], includes: [{ path: 'a', gt: 1 }, { path: 'b', exists: true }] }, [{ a: 2, b: 0 }]))
  t.notOk(holds({ path: [], includes: [{ path: 'a', gt: 1 }, { path: 'b', exists: true }] }, [{ a: 2 }, { b: 0 }]), 'one element')
  t.end()
})

tape('matches: any, all and not; not passes what is missing', (t) => {
  const [one, two] = [{ path: 'a', equals: 1 }, { path: 'b', equals: 2 }]
  t.ok(holds({ any: [one, two] }, { b: 2 }))
  t.notOk(holds({ any: [] }, {}))
  t.ok(holds({ all: [] }, {}))
  t.notOk(holds({ all: [one, two] }, { b: 2 }))
  t.ok(holds({ not: { path: 'a', gt: 1 } }, {}))
  t.ok(holds({ not: { path: 'a', gt: 1 } }, { a: 'x' }))
  t.notOk(holds({ not: { path: 'a', gt: 1 } }, { a: 2 }))
  t.ok(holds({ not: [one, two] }, { a: 1 }), 'not both')
  t.ok(holds({ not: { any: [one, two] } }, { a: 2 }))
  t.ok(holds([{ any: [one, [two, { not: one }]] }], { b: 2 }), 'a list inside a list')
  t.end()
})

tape('parseWhere: a misspelt operator is told, and what was meant', (t) => {
  const messageOf = (where) => {
    try {
      return String(parseWhere(where))
    } catch (err) {
      return err.message
    }
  }
  const meant = [['equal', 'equals'], ['Equals', 'equals'], ['$eq', 'equals'], ['exist', 'exists'], ['$in', 'in'], ['>=', 'gte'],
    ['$gte', 'gte'], ['startsWith', 'prefix'], ['starts_with', 'prefix'], ['include', 'includes'], ['contains', 'includes']]
  for (const [word, operator] of meant) {
    t.ok(messageOf({ path: 'a', [word]: 1 }).includes(`did you mean ${operator}?`), word)
  }
  for (const [word, combiner] of [['or', 'any'], ['AND', 'all'], ['$not', 'not'], ['every', 'all']]) {
    t.ok(messageOf({ [word]: [] }).includes(`did you mean ${combiner}?`), word)
  }
  for (const word of ['frobnicate', 'x', '__proto__', 'toString', 'y'.repeat(1e6)]) {
    const message = messageOf(JSON.parse(JSON.stringify({ path: 'a' }).replace('}', `,${JSON.stringify(word)}:1}`)))
    t.ok(message.includes('there is no operator') && !message.includes('did you mean'), message.slice(0, 60))
    t.ok(message.includes('equals, exists, in, gt, gte, lt, lte, prefix, includes') && message.length < 500, 'all are listed')
  }
  t.end()
})

tape('parseWhere: what a stranger sends is bounded', (t) => {
  const nest = (depth, wrap) => Array.from({ length: depth }).reduce((filter) => wrap(filter), { path: 'a', equals: 1 })
  const wraps = [(filter) => ({ not: filter }), (filter) => ({ any: [filter] }), (filter) => [filter],
    (filter) => ({ path: 'a', includes: filter })]
  for (const wrap of wraps) {
    t.doesNotThrow(() => parseWhere(nest(31, wrap)))
    t.throws(() => parseWhere(nest(33, wrap)), /nested deeper than 32 levels/)
    t.throws(() => parseWhere(nest(1e5, wrap)), /nested deeper than 32 levels/)
  }
  const condition = { path: 'a', equals: 1 }
  t.throws(() => parseWhere(new Array(2 ** 32 - 1)), /1000 conditions/)
  t.throws(() => parseWhere({ any: new Array(1001).fill(condition) }), /1000 conditions/)
  t.throws(() => parseWhere({ any: new Array(40).fill({ all: new Array(40).fill(condition) }) }), /1000 conditions/)
  t.throws(() => parseWhere({ path: new Array(1001).fill('a'), equals: 1 }), /1000 keys/)
  t.throws(() => parseWhere({ path: 'a.'.repeat(1e7), equals: 1 }), /1000 keys/)
  t.doesNotThrow(() => parseWhere({ path: 'a', in: new Array(1e5).fill('x') }))
  t.throws(() => parseWhere({ path: 'a', in: new Array(100_001).fill('x') }), /100000 values/)
  t.throws(() => parseWhere([1, 2].map(() => ({ path: 'a', in: new Array(60_000).fill('x') }))), /100000 values/)
  t.throws(() => parseWhere({ path: 'a', in: new Array(2 ** 32 - 1) }), /100000 values/)
  t.end()
})
