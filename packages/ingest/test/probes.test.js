'use strict'
// Who looks whether the server is there: probes by address, by HTTP/1.0 and with HEAD.

const net = require('node:net')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { createKey } = require('..')
const { rawRequest, serve } = require('./helpers')

const NAME = 'logs.example.com'
const ADDRESSES = ['10.1.2.3:7821', '10.1.2.3', '127.0.0.1:7821', '[fd00::1]:7700', '[::1]', '[2001:db8::7]:80']
const STRANGERS = ['evil.example', 'evil.example:7700', '10.1.2.3.evil.example', '10.1.2', '0x7f.1', '[evil]', '[::1', 'localhost.evil.example']

tape('probes: by address under hosts, with keys and without; nothing else is', async (t) => {
  for (const isKeyed of [false, true]) {
    const folder = temporaryFolder()
    const headers = {}
    if (isKeyed) {
      const { secret } = await createKey(path.join(folder, 'keys.json'), { scopes: ['read:*'] })
      headers.authorization = `Bearer ${secret}`
    }
    const { url } = await serve(t, { folder, hosts: [NAME] })
    const status = async (path, host, more) => {
      return (await rawRequest(url, { path, headers: { ...headers, host, ...more } })).status
    }
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      for (const host of [...ADDRESSES, NAME, `${NAME}:443`]) t.equal(await status(path, host), 200, `${path} ${host}`)
      for (const host of STRANGERS) t.equal(await status(path, host), 403, `${path} ${host}`)
      t.equal(await status(path, '10.1.2.3', { origin: 'http://evil.example' }), 403, `${path}: a page of another site`)
      t.equal(await status(path, '10.1.2.3', { 'sec-fetch-site': 'cross-site' }), 403, path)
    }
    for (const path of ['/v1/logs', '/v1/logs/a', '/openapi.json']) t.equal(await status(path, '10.1.2.3'), 403, path)
  }
})

tape('probes: by HTTP/1.0 without a name', async (t) => {
  const { url } = await serve(t)
  const ask = (path) => new Promise((resolve) => {
    let answer = ''
    const socket = net.connect(new URL(url).port, '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.0\r\n\r\n`))
    socket.on('data', (data) => { answer += data })
    socket.on('close', () => resolve(Number(answer.split(' ')[1])))
  })
  t.deepEqual([await ask('/healthz'), await ask('/readyz'), await ask('/metrics'), await ask('/v1/logs')], [200, 200, 200, 403])
})

tape('head: what GET has, without a body, and nothing is stored', async (t) => {
  const { url, post, read } = await serve(t)
  await post('/v1/logs/a', '[1,2]')
  await post('/v1/logs/se', '{"source":"door","event":"open"}')
  const paths = ['/healthz', '/readyz', '/metrics', '/openapi.json', '/v1/logs', '/v1/logs/a', '/v1/logs/a?limit=x', '/v1/logs/none',
    '/v1/se/counts', '/v1/se/counts?since=x', '/v1/nothing', '/healthz/']
  for (const path of paths) {
    const [got, head] = [await rawRequest(url, { path }), await rawRequest(url, { path, method: 'HEAD' })]
    t.deepEqual([head.status, head.headers['content-type'], head.text], [got.status, got.headers['content-type'], ''], path)
  }
  t.equal((await rawRequest(url, { path: '/v1/se/door/open', method: 'HEAD' })).status, 200)
  t.equal((await read('/v1/logs/se')).records.length, 1, 'a link that is only looked at is no event')
})
