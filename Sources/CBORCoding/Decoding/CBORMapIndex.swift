import Foundation

/// Values of a large map, by key.
final class CBORMapIndex {
  enum Key {
    /// Points into the document.
    case text(UnsafeRawBufferPointer)
    case integer(Int)
  }

  private struct Entry {
    let name: UnsafeRawBufferPointer
    let value: CBORPosition
  }

  private var names: [Entry] = []
  private var numbers: [Int: CBORPosition] = [:]

  /// - Parameters:
  ///   - isSorted: Whether the keys are in deterministic order.
  ///   - capacity: The verified number of keys.
  ///   - fill: Calls its argument with every key and its value's position.
  init(isSorted: Bool, capacity: Int, _ fill: ((Key, CBORPosition) -> Void) -> Void) {
    names.reserveCapacity(capacity)
    fill { key, value in
      switch key {
      case .text(let name): names.append(Entry(name: name, value: value))
      case .integer(let number): numbers[number] = value
      }
    }
    if !isSorted { names.sort { Self.order($0.name, $1.name) < 0 } }
  }

  func value(_ number: Int) -> CBORPosition? { numbers[number] }

  func value(_ name: UnsafeRawBufferPointer) -> CBORPosition? {
    var low = 0
    var high = names.count
    while low < high {
      let middle = (low + high) / 2
      let order = Self.order(names[middle].name, name)
      if order == 0 { return names[middle].value }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  /// The order of encoded keys: shorter ones first.
  private static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    if a.count != b.count { return a.count < b.count ? -1 : 1 }
    guard let a = a.baseAddress, let other = b.baseAddress else { return 0 }
    return Int(memcmp(a, other, b.count))
  }
}
