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

    /// The write.
    ///
    /// - Parameter reading: Makes an entry of a record.
    /// - Throws: `.notKept` for what is none, and what `reading` does.
    func item(_ reading: (Data, String) throws -> PortableEntry) throws -> Item {
      let header = [UInt8](bytes.prefix(9))
      let length = header.dropFirst().reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      guard header.count == 9, length <= UInt64(bytes.count - 9),
        let key = String(validating: bytes.dropFirst(9).prefix(Int(length)), as: UTF8.self)
      else { throw Self.unreadable }
      switch header[0] {
      case Self.set:
        return Item(number: number, key: key, write: .set(try reading(Data(bytes.dropFirst(9 + Int(length))), key)))
      case Self.remove: return Item(number: number, key: key, write: .remove)
      case Self.removeAll: return Item(number: number, key: key, write: .removeAll)
      default: throw Self.unreadable
      }
    }

    private static var unreadable: RemoteTierError {
      RemoteTierError(.notKept, "It is no write of this version, or was damaged.")
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
