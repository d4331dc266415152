import Foundation
import LMDBCaching

extension WriteQueue {
  /// A write as it is kept on the disk.
  struct KeptItem: Sendable {
    let number: Int
    let bytes: Data

    private static let set: UInt8 = 1
    private static let remove: UInt8 = 2
    private static let removeAll: UInt8 = 3

    /// The write, or `nil` for what is none.
    ///
    /// - Parameter reading: Makes an entry of a record.
    func item(_ reading: (Data, String) throws -> PortableEntry) -> Item? {
      guard bytes.count >= 9 else { return nil }
      let header = [UInt8](bytes.prefix(9))
      let length = header[1...].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      guard length <= UInt64(bytes.count - 9),
        let key = String(validating: bytes.dropFirst(9).prefix(Int(length)), as: UTF8.self)
      else { return nil }
      switch header[0] {
      case Self.set:
        guard let entry = try? reading(Data(bytes.dropFirst(9 + Int(length))), key) else { return nil }
        return Item(number: number, key: key, write: .set(entry))
      case Self.remove: return Item(number: number, key: key, write: .remove)
      case Self.removeAll: return Item(number: number, key: key, write: .removeAll)
      default: return nil
      }
    }

    fileprivate static func bytes(of item: Item) -> Data {
      let operation =
        switch item.write {
        case .set: set
        case .remove: remove
        case .removeAll: removeAll
        }
      var bytes = Data([operation])
      withUnsafeBytes(of: UInt64(item.key.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: item.key.utf8)
      if case .set(let entry) = item.write { bytes.append(entry.record) }
      return bytes
    }
  }
}

extension WriteQueue.Item {
  /// A byte for what it does, the length of the key, the key, and the record of what is set.
  var kept: Data { WriteQueue.KeptItem.bytes(of: self) }
}
