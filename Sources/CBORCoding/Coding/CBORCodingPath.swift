/// The coding keys that lead to every value which is being coded, for those who ask for them: errors, mostly.
///
/// It costs next to nothing while nobody asks: a key is not copied, but pointed to. An element is pushed when the
/// coding of a value begins and popped when it ends, so each is alive as long as the caller's variable that it
/// points to. Containers which outlive that refer to an element by its place; once it is popped, they get the path
/// of something else, or a part of their own, and never touch memory that is not theirs.
struct CBORCodingPath: ~Copyable {
  /// The place of an element; `nil` for the root.
  typealias Reference = Int32
  static let root: Reference = -1

  /// How an element is to be popped.
  struct Mark {
    fileprivate let elements: Int
    fileprivate let ownedKeys: Int
  }

  struct Element: BitwiseCopyable {
    enum Kind: UInt8 { case none, borrowed, index, owned }
    let parent: Reference
    let depth: Int32
    let kind: Kind
    /// Of an array's element, or in `ownedKeys`.
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

  /// How many values are around and including the one at `reference`.
  @inline(__always)
  func depth(of reference: Reference) -> Int {
    reference >= 0 && reference < elements.count ? Int(elements[Int(reference)].depth) : 0
  }

  // MARK: Pushing

  /// A value without a key of its own: that of a single value container.
  @inline(__always)
  mutating func push(under parent: Reference) -> Reference {
    push(parent, .none, 0, nil, CBORCodingKey.self)
  }

  @inline(__always)
  mutating func push(index: Int, under parent: Reference) -> Reference {
    push(parent, .index, index, nil, CBORCodingKey.self)
  }

  /// A key that stays where it is until the element is popped.
  @inline(__always)
  mutating func push<Key: CodingKey>(borrowing key: UnsafePointer<Key>, under parent: Reference) -> Reference {
    push(parent, .borrowed, 0, UnsafeRawPointer(key), Key.self)
  }

  /// A key that is copied: of a container or coder that nobody tells when it is done with.
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
      // A parent lies beneath its children; anything else is a place that has been taken over.
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
