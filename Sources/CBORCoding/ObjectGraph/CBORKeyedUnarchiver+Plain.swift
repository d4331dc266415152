#if !canImport(Darwin)
  package import Foundation

  extension CBORKeyedUnarchiver {
    /// Returns the root of an archive as the CBOR of a value, or `nil` if it needs a class. Strings, numbers, data,
    /// dates, URLs, UUIDs and collections of them do not.
    package static func plainRoot(of archive: UnsafeRawBufferPointer) -> Data? {
      var reader = CBORReader(archive)
      var writer = CBORWriter(capacity: archive.count)
      do throws(CBORError) {
        guard try reader.readMapHead() == 1, try reader.readText() == NSKeyedArchiveRootObjectKey else { return nil }
        while !reader.isAtEnd {
          let start = reader.offset
          let head = try reader.readHead()
          switch (head.major, head.argument) {
          case (.tag, CBORTag.object):
            guard try reader.readArrayHead() == 2 else { return nil }
            switch try reader.readText() {
            case "NSMutableString", "NSMutableData", "NSMutableArray", "NSMutableDictionary", "NSMutableSet": continue
            case "NSDate":
              guard let seconds = try reader.readHead().double else { return nil }
              CBORDateForm.write(Date(timeIntervalSinceReferenceDate: seconds), to: &writer)
              continue
            default: return nil
            }
          case (.tag, CBORTag.shared), (.tag, CBORTag.reference): return nil
          case (.bytes, _), (.text, _):
            reader.move(to: start)
            guard try reader.readDefinite(head.major) != nil else { return nil }
          default: break
          }
          writer.append(UnsafeRawBufferPointer(rebasing: archive[start..<reader.offset]))
        }
      } catch {
        return nil
      }
      return writer.data
    }
  }
#endif
