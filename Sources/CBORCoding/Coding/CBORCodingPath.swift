/// The coding paths of all values being coded, mainly for errors.
///
/// Nearly free until requested: keys are pointed to instead of copied. An element is pushed when a value's coding
/// begins and popped when it ends, while the caller's key variable is alive. A container that outlives its element
/// refers to it by index; after the pop it gets another path or a part of its own, and never reads foreign memory.
struct CBORCodingPath: ~Copyable {
  /// An element's index; -1 for the root.
  typealias Reference = Int32
  static let root: Reference = -1

  /// The information to pop an element.
  struct Mark {
    fileprivate let elements: Int
    fileprivate let ownedKeys: Int
  }

  struct Element: BitwiseCopyable {
    enum Kind: UInt8 { case none, borrowed, index, owned }
    let parent: Reference
    let depth: Int32
    let kind: Kind
    /// The array element's index, or the index in `ownedKeys`.
    let index: Int
    let pointer: UnsafeRawPointer?
    let type: any CodingKey.Type
  }

  private var elements = CBORStack<Element>(capacity: 16)
  private var ownedKeys: [any CodingKey] = []

  init() {}

  var mark: Mark { Mark(elements: elements.count, ownedKeys: ownedKeys.count) }

  @inline(__always)
  mutating func pop(to mark: Mark) {
    elements.truncate(to: mark.elements)
    if ownedKeys.count > mark.ownedKeys { ownedKeys.removeLast(ownedKeys.count - mark.ownedKeys) }
  }

  mutating func removeAll() { pop(to: Mark(elements: 0, ownedKeys: 0)) }

  /// The number of values from the root to the one at `reference`.
  @inline(__always)
  func depth(of reference: Reference) -> Int {
    reference >= 0 && reference < elements.count ? Int(elements[Int(reference)].depth) : 0
  }

  // MARK: Pushing

  /// Pushes a value without a key, in a single value container.
  @inline(__always)
  mutating func push(under parent: Reference) -> Reference {
    push(parent, .none, 0, nil, CBORCodingKey.self)
  }

  @inline(__always)
  mutating func push(index: Int, under parent: Reference) -> Reference {
    push(parent, .index, index, nil, CBORCodingKey.self)
  }

  /// Pushes a key that stays in place until the pop.
  @inline(__always)
  mutating func push<Key: CodingKey>(borrowing key: UnsafePointer<Key>, under parent: Reference) -> Reference {
    push(parent, .borrowed, 0, UnsafeRawPointer(key), Key.self)
  }

  /// Pushes a copied key, for a container or coder without a known end.
  mutating func push(copying key: any CodingKey, under parent: Reference) -> Reference {
    ownedKeys.append(key)
    return push(parent, .owned, ownedKeys.count - 1, nil, CBORCodingKey.self)
  }

  @inline(__always)
  private mutating func push(
    _ parent: Reference, _ kind: Element.Kind, _ index: Int, _ pointer: UnsafeRawPointer?, _ type: any CodingKey.Type
  ) -> Reference {
    let depth = Int32(truncatingIfNeeded: depth(of: parent) &+ 1)
    elements.append(Element(parent: parent, depth: depth, kind: kind, index: index, pointer: pointer, type: type))
    return Reference(truncatingIfNeeded: elements.count &- 1)
  }

  // MARK: Keys

  /// The keys from the root to the value at `reference`.
  func keys(to reference: Reference) -> [any CodingKey] {
    var keys: [any CodingKey] = []
    var reference = reference
    while reference >= 0, reference < elements.count {
      let element = elements[Int(reference)]
      if let key = key(of: element) { keys.append(key) }
      // A parent is below its children; anything else is a reused index.
      guard element.parent < reference else { break }
      reference = element.parent
    }
    return keys.reversed()
  }

  private func key(of element: Element) -> (any CodingKey)? {
    switch element.kind {
    case .none: return nil
    case .index: return CBORCodingKey(index: element.index)
    case .owned: return element.index < ownedKeys.count ? ownedKeys[element.index] : nil
    case .borrowed:
      func load<Key: CodingKey>(_ type: Key.Type) -> any CodingKey {
        element.pointer.unsafelyUnwrapped.assumingMemoryBound(to: type).pointee
      }
      return load(element.type)
    }
  }
}
