'use strict'
// The words of one page: texts and types with links to the sections of this page and of others.

const ts = require('typescript')
const { prose, sentence, table, typeWords } = require('./markdown')

/**
 * @typedef {import('typescript').Symbol} Symbol
 * @typedef {import('./type-text').TypeText} TypeText
 * @typedef {import('./shapes').Field} Field
 */

class Words {
  #packages
  #shapes
  #places
  #page
  /** Whether a type that is only named gets a section of its own. */
  addsTypes = true

  /**
   * @param {import('./packages').Packages} packages
   * @param {import('./shapes').Shapes} shapes
   * @param {import('./places').Places} places
   * @param {import('./places').Page} page
   */
  constructor (packages, shapes, places, page) {
    this.#packages = packages
    this.#shapes = shapes
    this.#places = places
    this.#page = page
  }

  /** @param {TypeText} text */
  ofType (text) {
    return typeWords(text, (symbol) => this.#linkOf(symbol))
  }

  /** @param {TypeText} text */
  hasLink ({ symbols }) {
    return symbols.some((symbol) => this.#linkOf(symbol) !== null)
  }

  /** @param {string} text  of a comment */
  ofComment (text) {
    return prose(text, (name) => this.#findName(name))
  }

  /** @param {string} text  of a comment */
  sentenceOf (text) {
    return sentence(this.ofComment(text))
  }

  /** A name, with a link to its section if it has one. @type {(name: string, key: unknown) => string} */
  ofName (name, key) {
    const link = this.#places.find(key, this.#page)
    return link === null ? `\`${name}\`` : `[\`${name}\`](${link})`
  }

  /** A member that another package declares. @param {Field} field */
  ofMember ({ name, symbol }) {
    const declaration = symbol.declarations?.[0]
    if (this.#places.find(declaration, this.#page) !== null) return this.ofName(name, declaration)
    // What all logs have is described with the first of them.
    const link = this.#places.findMember(this.#packages.folderOf(symbol) ?? '', name)
    return link === null ? `\`${name}\`` : `[\`${name}\`](${link})`
  }

  /** @param {Field[]} fields */
  fieldTable (fields) {
    return table(['name', 'type', 'description'], fields.map(({ name, isOptional, text, description }) => {
      return [`\`${name}${isOptional ? '?' : ''}\``, this.ofType(text), this.ofComment(description)]
    }))
  }

  /** @param {Symbol} given */
  #linkOf (given) {
    const symbol = this.#packages.resolveType(given)
    const known = this.#places.find(symbol, this.#page)
    const page = this.#places.pages.get(this.#packages.folderOf(symbol) ?? '')
    if (known !== null || !this.addsTypes || !symbol.declarations?.some(ts.isJSDocTypedefTag)) return known
    if (page) this.#places.addType(page, symbol, symbol.name)
    return this.#places.find(symbol, this.#page)
  }

  /** @param {string} name  such as `OffsetLog` or `OffsetLog.append` @returns {string | null} */
  #findName (name) {
    const [first, member] = name.split('.')
    for (const page of [this.#page, ...this.#places.pages.values()]) {
      const section = [...page.sections.values()].flat().find(({ name }) => name === first)
      const type = [...page.types].find(([, name]) => name === first)?.[0]
      const fields = member && section?.made ? this.#shapes.fieldsOf([section.made]) : []
      const field = fields.find(({ name }) => name === member)
      const key = field?.symbol.declarations?.[0] ?? section?.value ?? type
      const link = key ? this.#places.find(key, this.#page) : null
      if (link !== null) return link
    }
    return null
  }
}

exports.Words = Words
