import CXXHash
import CXXHashWide
import TestSupport
import Testing

@Suite struct ChecksumTests {
  @Test(arguments: [0, 1, 16, 128, 240, 241, 511, 512, 513, 1_023, 1_024, 4_096, 32_767, 32_768, 100_000, 1_000_001])
  func bothFormsAgree(_ count: Int) {
    var random = SeededRandom(UInt64(count))
    let bytes = random.bytes(count)
    for seed in [UInt64(0), 1, .max] {
      let (narrow, wide) = bytes.withUnsafeBytes {
        (cxxhash_64($0.baseAddress, count, seed), cxxhash_wide_64($0.baseAddress, count, seed))
      }
      #expect(narrow == wide)
    }
  }
}
