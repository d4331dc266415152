import Foundation

/// A stack of trivial values. A push is a store and an addition, without an array's checks and reference counting.
struct CBORStack<Element: BitwiseCopyable>: ~Copyable {
  private var base: UnsafeMutablePointer<Element>
  private(set) var capacity: Int
  private(set) var count = 0

  init(capacity: Int = 16) {
    self.capacity = max(capacity, 1)
    base = .allocate(capacity: self.capacity)
  }

  deinit { base.deallocate() }

  @inline(__always)
  subscript(index: Int) -> Element {
    get {
      assert(index >= 0 && index < count)
      return base[index]
    }
    _modify {
      assert(index >= 0 && index < count)
      yield &base[index]
    }
  }

  @inline(__always)
  mutating func append(_ element: Element) {
    if count == capacity { grow() }
    (base + count).initialize(to: element)
    count &+= 1
  }

  @inline(__always)
  mutating func removeLast() -> Element {
    assert(count > 0)
    count &-= 1
    return base[count]
  }

  @inline(__always)
  mutating func truncate(to count: Int) {
    assert(count >= 0 && count <= self.count)
    self.count = count
  }

  @inline(__always)
  mutating func withElements<R>(from start: Int, _ body: (UnsafeMutableBufferPointer<Element>) -> R) -> R {
    body(UnsafeMutableBufferPointer(start: base + start, count: count - start))
  }

  @inline(never)
  private mutating func grow() {
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
    larger.update(from: base, count: count)
    base.deallocate()
    base = larger
    capacity *= 2
  }
}
