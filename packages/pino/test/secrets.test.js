'use strict'
// Every kind of secret, in every place of a line, under every preset that goes to production: it is neither in the log
// nor in what `tee` prints.

const pino = require('pino')
const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { preset } = require('..')
const { redactNamed } = require('../lib/names')
const { newFolder, readAll } = require('./helper')

const PRESETS = ['production', 'fastify', 'serverless', 'hardened']

// In parts, so that no tool takes them for secrets of this repository.
const CARD = '4111 1111 ' + '1111 1111'
const BY_FORM = {
  'a card': [CARD, CARD],
  'a card without spaces': [CARD.replaceAll(' ', ''), CARD.replaceAll(' ', '')],
  'a password in a URL': ['postgres://app:hunter' + '2@db/x', 'hunter2'],
  'a password with an @ in a URL': ['redis://:hunt@er' + '2@db:6379', 'er2'],
  'a user and a password in a URL': ['https://ada@example.com:hunter' + '2@db/', 'hunter2'],
  'a token in a query': ['GET /x?a=1&access_token=hunter' + '2&b=2', 'hunter2'],
  'a password in a connection string': ['Server=db;Password=hunter' + '2;', 'hunter2'],
  'a Bearer token': ['Authorization: Bearer hunter' + '2.abcdef', 'hunter2'],
  'a Basic password': ['Authorization: Basic YWRhOmh1bnRlcjI=', 'YWRhOmh1bnRlcjI'],
  'a JSON web token': ['eyJ' + 'hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'c2lnbmF0dXJl'],
  'a token of GitHub': ['ghp_' + 'a1B2'.repeat(9), 'a1B2a1B2'],
  'a key of AWS': ['AKIA' + 'IOSFODNN7EXAMPLE', 'IOSFODNN7EXAMPLE'],
  'JSON with a password': ['{"user":{"password":"hunter' + '2 \\" x"},"n":1}', 'hunter2'],
  'JSON in JSON with a password': [JSON.stringify({ body: '{"user":{"password":"hunter' + '2"}}' }), 'hunter2']
}
const NAMES = ['password', 'Password', 'PASSWORD', 'newPassword', 'user_password', 'passwordConfirmation', 'passwd', 'pwd', 'passphrase',
  'secret', 'clientSecret', 'client_secret', 'token', 'accessToken', 'refresh_token', 'x-access-token', 'csrfToken', 'apiKey',
  'api_key', 'X-API-Key', 'authorization', 'Authorization', 'proxy-authorization', 'cookie', 'Cookie', 'set-cookie', 'cookies',
  'privateKey', 'secretAccessKey', 'aws_secret_access_key', 'credentials', 'cardNumber', 'cvv', 'pin', 'sessionId', 'rawHeaders']
const VALUES = ['hunter2', ['hunter2'], { a: { b: ['x}"', 'hunter2'] } }, 'a "quoted" \\ hunter2', '\u2028hunter2']

const failed = (text, config) => Object.assign(new Error(text), { config })
/** Where a program may put it: by form, a text; by name, an object. */
const PLACES = {
  'the message': (logger, text) => logger.info(text),
  'a field': (logger, text, object) => logger.info({ text, ...object }, 'done'),
  'a field, far down': (logger, text, object) => logger.info({ a: { b: [{ c: { d: { e: [{ text, ...object }] } } }] } }),
  'a child': (logger, text, object) => logger.child({ text, x: object }).info('done'),
  'an error': (logger, text, object) => logger.error(failed(text, { headers: object })),
  'the cause of an error': (logger, text, object) => logger.error(new Error('x', { cause: failed(text, object) })),
  'a text of JSON': (logger, text, object) => logger.info({ body: JSON.stringify({ text, x: object }) }, 'done'),
  'a text of JSON of JSON': (logger, text, object) => logger.info(JSON.stringify({ a: JSON.stringify({ text, x: [object] }) }))
}
const PLACE_COUNT = Object.keys(PLACES).length

for (const name of PRESETS) {
  tape(`preset ${name}: no secret is stored or printed, wherever it is`, { timeout: 60_000 }, async (t) => {
    const folder = newFolder()
    const printed = []
    const [options, to] = preset(name, folder, { tee: { write: (line) => printed.push(line) } })
    await to.ready()
    const logger = pino(options, to)
    const expected = []
    const note = (what, where, needle) => expected.push({ what: `${what} in ${where}`, needle })
    for (const [where, log] of Object.entries(PLACES)) {
      for (const [what, [text, needle]] of Object.entries(BY_FORM)) {
        note(what, where, needle)
        log(logger, text, {})
      }
      if (where === 'the message') continue
      for (const key of NAMES) {
        for (const value of VALUES) {
          note(key, where, 'hunter2')
          log(logger, 'done', { before: 'kept', [key]: value, after: 'kept' })
        }
      }
    }
    await to.close()
    const stored = (await readAll(folder)).map((record) => JSON.stringify(record))
    t.equal(stored.length, expected.length)
    const shown = expected.filter(({ needle }, n) => stored[n].includes(needle) || printed[n].includes(needle))
    t.deepEqual(shown.map(({ what }) => what), [])
    // Of the cause of an error, pino writes only the message and the stack.
    const keptCount = (PLACE_COUNT - 2) * NAMES.length * VALUES.length * 2
    t.equal(stored.join('').split('kept').length - 1, keptCount, 'and what stands beside a name stays')
  })
}

tape('names: what only sounds like a secret stays', (t) => {
  for (const value of [{ tokens: 512, maxTokens: 9, passed: 'yes', key: 'a', cardId: 'c', author: 'ada', compass: 'N', pinned: 'x' },
    { hasPassword: true, token: null, cookie: false }, { missing: ['password', 'email'] }, { msg: 'wrong password: "x", user ada' },
    { name: 'password', msg: 'a == b, key=1, path=/x' }, { passwordChangedAt: '2026' }, { msg: '\\"token\\": none' }]) {
    const line = JSON.stringify(value)
    t.equal(redactNamed(line, '[Redacted]'), line)
  }
  t.end()
})

const seed = Date.now() % 2 ** 31
tape(`names: against a search in the parsed value (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  const pick = (list) => list[random(list.length)]
  const texts = ['', 'x', '"', '\\', '\\"', '{', '}]', '":', '"password":', 'ü', '\n', ',"token":1', 'a b']
  const keys = ['a', 'b c', 'token', 'Pass_Phrase', 'tokens', 'key', '"', 'password\\', 'user.password']
  const make = (depth) => {
    const kind = random(depth > 3 ? 4 : 7)
    if (kind < 2) return Array.from({ length: random(4) }, () => pick(texts)).join('')
    if (kind === 2) return pick([0, -1, 1e21, 0.5, 1795429997484])
    if (kind === 3) return pick([null, true, false])
    if (kind === 4) return Array.from({ length: random(4) }, () => make(depth + 1))
    return Object.fromEntries(Array.from({ length: random(4) }, () => [pick(keys), make(depth + 1)]))
  }
  const isSecret = (key, value) => value !== null && typeof value !== 'boolean' && (/^(?:token|Pass_Phrase|user\.password)$/.test(key) ||
    (key === 'tokens' && typeof value !== 'number'))
  const expect = (value) => {
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value)) return value.map(expect)
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, isSecret(key, part) ? '#' : expect(part)]))
  }
  for (let round = 0; round < 20_000; round++) {
    const value = { x: make(0) }
    // A text may look like a line itself: then more goes, but the line stays JSON.
    const hasLines = /\\"(?:password|token)\\/.test(JSON.stringify(value))
    const found = JSON.parse(redactNamed(JSON.stringify(value), '#'))
    if (!hasLines && JSON.stringify(found) !== JSON.stringify(expect(value))) return t.fail(`${JSON.stringify(value)} became ${JSON.stringify(found)}`)
    const nested = JSON.parse(JSON.parse(redactNamed(JSON.stringify({ body: JSON.stringify(value) }), '#')).body)
    if (!hasLines && JSON.stringify(nested) !== JSON.stringify(expect(value))) return t.fail(`as a text: ${JSON.stringify(value)} became ${JSON.stringify(nested)}`)
  }
  t.pass('20,000 lines')
  t.end()
})

tape('names: the time is linear in the length, whatever the line is', (t) => {
  for (const part of ['\\', '"', '\\"', '"token":', '"token":{', '"token":"', '\\"token\\":\\"', 'token=', 'a', '{', '[', '\\\\"', '"password":[']) {
    const line = `{"m":"${part.repeat(1e6 / part.length)}"}`
    const began = performance.now()
    redactNamed(line, '#')
    // A quadratic search would take minutes.
    t.ok(performance.now() - began < 20_000, part)
  }
  t.end()
})
