import Foundation
import Synchronization

/// The coding paths of all values being coded, for errors. Nearly free until requested: keys are pointed to.
///
/// An element is pushed when a value's coding begins and popped when it ends, while the caller's key variable is alive.
/// A container that outlives its element refers to it by index, and never reads foreign memory.
struct CBORCodingPath: ~Copyable {
  /// An element's index; -1 for the root.
  typealias Reference = Int32
  static let root: Reference = -1

  /// The information to pop an element.
  struct Mark {
    fileprivate let elements: Int
    fileprivate let ownedKeys: Int
  }

  @safe struct Element: BitwiseCopyable {
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
    unsafe push(parent, .none, 0, nil, CBORCodingKey.self)
  }

  @inline(__always)
  mutating func push(index: Int, under parent: Reference) -> Reference {
    unsafe push(parent, .index, index, nil, CBORCodingKey.self)
  }

  /// Pushes a key that stays in place until the pop.
  @inline(__always)
  mutating func push<Key: CodingKey>(borrowing key: UnsafePointer<Key>, under parent: Reference) -> Reference {
    unsafe push(parent, .borrowed, 0, UnsafeRawPointer(key), Key.self)
  }

  /// Pushes a copied key, for a container or coder without a known end.
  mutating func push(copying key: any CodingKey, under parent: Reference) -> Reference {
    ownedKeys.append(key)
    return unsafe push(parent, .owned, ownedKeys.count - 1, nil, CBORCodingKey.self)
  }

  @inline(__always)
  private mutating func push(
    _ parent: Reference, _ kind: Element.Kind, _ index: Int, _ pointer: UnsafeRawPointer?, _ type: any CodingKey.Type
  ) -> Reference {
    let depth = Int32(truncatingIfNeeded: depth(of: parent) &+ 1)
    unsafe elements.append(
      Element(parent: parent, depth: depth, kind: kind, index: index, pointer: pointer, type: type))
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
        unsafe element.pointer.unsafelyUnwrapped.assumingMemoryBound(to: type).pointee
      }
      return load(element.type)
    }
  }
}

/// A coding key outside the caller's types: an array index, or `super`.
struct CBORCodingKey: CodingKey {
  static let superclass = CBORCodingKey(stringValue: "super", intValue: nil)

  let stringValue: String
  let intValue: Int?

  init(stringValue: String) { self.init(stringValue: stringValue, intValue: nil) }

  init(intValue: Int) { self.init(stringValue: String(intValue), intValue: intValue) }

  init(index: Int) { self.init(stringValue: "Index \(index)", intValue: index) }

  private init(stringValue: String, intValue: Int?) {
    self.stringValue = stringValue
    self.intValue = intValue
  }
}

/// A value that is never freed: a reference to it is always valid, and costs no counting.
@safe struct CBORCell<Value: ~Copyable>: BitwiseCopyable {
  private let pointer: UnsafeMutablePointer<Value>

  init(_ value: consuming Value) {
    unsafe pointer = .allocate(capacity: 1)
    unsafe pointer.initialize(to: value)
  }

  /// The cell with an ``address``.
  @unsafe init(address: UInt) { unsafe pointer = unsafe UnsafeMutablePointer(bitPattern: address).unsafelyUnwrapped }

  var address: UInt { unsafe UInt(bitPattern: pointer) }

  @inline(__always) var value: Value {
    unsafeAddress { unsafe UnsafePointer(pointer) }
    nonmutating unsafeMutableAddress { unsafe pointer }
  }
}

// Sendable: threads share only cells whose values do not change, or are atomic.
extension CBORCell: @unchecked Sendable where Value: Sendable & ~Copyable {}

/// A stack of trivial values. A push is a store and an addition, without an array's checks and reference counting.
@safe struct CBORStack<Element: BitwiseCopyable>: ~Copyable {
  private var base: UnsafeMutablePointer<Element>
  private(set) var capacity: Int
  private(set) var count = 0

  init(capacity: Int = 16) {
    self.capacity = max(capacity, 1)
    unsafe base = .allocate(capacity: self.capacity)
  }

  deinit { unsafe base.deallocate() }

  @inline(__always)
  subscript(index: Int) -> Element {
    get {
      precondition(UInt(bitPattern: index) < UInt(bitPattern: count))
      return unsafe base[index]
    }
    _modify {
      precondition(UInt(bitPattern: index) < UInt(bitPattern: count))
      yield unsafe &base[index]
    }
  }

  @inline(__always)
  mutating func append(_ element: Element) {
    if count == capacity { grow() }
    unsafe (base + count).initialize(to: element)
    count &+= 1
  }

  @inline(__always)
  mutating func removeLast() -> Element {
    precondition(count > 0)
    count &-= 1
    return unsafe base[count]
  }

  @inline(__always)
  mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= self.count)
    self.count = count
  }

  /// Sorts the elements from an index. Few are sorted in place: the standard library's sort costs more.
  @inline(__always)
  mutating func sort(from start: Int, by precedes: (Element, Element) -> Bool) {
    precondition(start >= 0 && start <= count)
    guard count - start <= 20 else {
      var list = unsafe UnsafeMutableBufferPointer(start: base + start, count: count - start)
      return unsafe list.sort(by: precedes)
    }
    for sorted in start..<count {
      let element = self[sorted]
      var position = sorted
      while position > start, precedes(element, self[position - 1]) {
        self[position] = self[position - 1]
        position -= 1
      }
      self[position] = element
    }
  }

  @inline(never)
  private mutating func grow() {
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
    unsafe larger.update(from: base, count: count)
    unsafe base.deallocate()
    unsafe base = unsafe larger
    capacity *= 2
  }
}

/// A pool of reusable elements that cost more to create than to use. Lends each to one caller at a time.
struct CBORSpares<Element>: ~Copyable, Sendable {
  // Sendable: an element in the pool is unused, and only one caller takes it out.
  private struct Spare: @unchecked Sendable {
    let element: Element
  }

  private let spares = Mutex<[Spare]>([])
  private let limit: Int

  /// - Parameter limit: The most elements to keep.
  init(limit: Int = .max) { self.limit = limit }

  @inline(__always)
  func take() -> Element? { spares.withLock { spares in spares.popLast() }?.element }

  @inline(__always)
  func put(_ element: Element) {
    let spare = Spare(element: element)
    spares.withLock { spares in
      if spares.count < limit { spares.append(spare) }
    }
  }
}
