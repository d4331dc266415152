#if !canImport(Darwin)
  import Foundation

  /// Plain values sorted by their encoded bytes, independent of hashes, which differ from run to run.
  struct SortedValues: ~Copyable {
    private var writer = CBORWriter(capacity: 256)
    private var ranges: ContiguousArray<(range: Range<Int>, index: Int)> = []

    /// Returns `nil` if any value is not plain.
    init?(_ values: [Any]) {
      ranges.reserveCapacity(values.count)
      for index in values.indices {
        let record = ClassTable.record(of: type(of: values[index]))
        guard record.pointee.form.isPlain else { return nil }
        let start = writer.count
        CBORKeyedArchiver.writePlain(values[index], record, to: &writer)
        ranges.append((start..<writer.count, index))
      }
      guard ranges.count > 1 else { return }
      writer.withBytes { bytes in
        ranges.sort { first, second in
          let (first, second) = (first.range, second.range)
          let order = memcmp(
            bytes.baseAddress! + first.lowerBound, bytes.baseAddress! + second.lowerBound,
            min(first.count, second.count))
          return order == 0 ? first.count < second.count : order < 0
        }
      }
    }

    func forEach(_ body: (Int, UnsafeRawBufferPointer) -> Void) {
      writer.withBytes { bytes in
        for (range, index) in ranges { body(index, UnsafeRawBufferPointer(rebasing: bytes[range])) }
      }
    }
  }
#endif
