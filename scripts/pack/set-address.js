'use strict'
// Writes the address of the repository to every place that needs it: the manifests, from which packing takes it for the
// links, and SECURITY.md. Once is enough; another address replaces the first one.
// Usage: node scripts/pack/set-address.js https://github.com/owner/name

const fs = require('node:fs')
const path = require('node:path')

const PLACE = /(<!-- address -->\n)[\s\S]*?(<!-- \/address -->)/

/**
 * @param {string} root  of the repository, or of a copy
 * @param {string} address
 */
function setAddress (root, address) {
  if (!/^https:\/\/[^\s/]+\/[^\s/]+\/[^\s/]+$/.test(address) || address.endsWith('.git')) {
    throw new Error(`expected an address like https://github.com/owner/name, got ${address}`)
  }
  stampManifest(root, '', address)
  for (const name of fs.readdirSync(path.join(root, 'packages'))) stampManifest(root, `packages/${name}`, address)
  const security = path.join(root, 'SECURITY.md')
  const text = fs.readFileSync(security, 'utf8')
  const report = `Report it [in private](${address}/security/advisories/new), please, not as an issue.\n`
  fs.writeFileSync(security, text.replace(PLACE, (_, begin, end) => begin + report + end))
}

/**
 * @param {string} root
 * @param {string} directory  of the package, from the root; empty for the root
 * @param {string} address
 */
function stampManifest (root, directory, address) {
  const file = path.join(root, directory, 'package.json')
  const { homepage, bugs, repository, ...manifest } = JSON.parse(fs.readFileSync(file, 'utf8'))
  const places = [
    ['homepage', directory ? `${address}/tree/main/${directory}#readme` : `${address}#readme`],
    ['bugs', `${address}/issues`],
    ['repository', { type: 'git', url: `git+${address}.git`, ...(directory && { directory }) }]
  ]
  const entries = Object.entries(manifest).flatMap((entry) => entry[0] === 'license' ? [...places, entry] : [entry])
  fs.writeFileSync(file, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`)
}

if (require.main === module) setAddress(path.join(__dirname, '..', '..'), process.argv[2] ?? '')

exports.setAddress = setAddress
