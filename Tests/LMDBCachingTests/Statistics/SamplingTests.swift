import CPlatform
import Foundation
import TestSupport
import Testing

/// Which of a thread's operations are timed.
@Suite struct SamplingTests {
  /// The indices timed on a new thread, for operations of equal duration.
  private static func samples(of count: Int, nanoseconds: Int64) -> [Int] {
    let samples = Guarded<[Int]>([])
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      var found: [Int] = []
      var time: Int64 = 1_000_000_000
      for number in 0..<count {
        if cplatform_is_sample(0) != 0 {
          found.append(number)
          cplatform_did_sample(0, time)
        }
        time += nanoseconds
      }
      let all = found
      samples { $0 = all }
      done.signal()
    }
    done.wait()
    return samples.current
  }

  @Test func fewOfManyAreTimed() throws {
    let samples = Self.samples(of: 2_000_000, nanoseconds: 50)
    #expect((1_500...3_000).contains(samples.count), "\(samples.count)")
    // Sampling is not periodic: both even and odd indices occur.
    let odd = samples.count { $0 % 2 == 1 }
    #expect(odd > samples.count / 3 && odd < samples.count * 2 / 3)
    let distances = zip(samples, samples.dropFirst()).map { $1 - $0 }.suffix(1_000)
    #expect(distances.allSatisfy { $0 >= 1 && $0 < 2_048 })
    #expect(Set(distances).count > 500)
  }

  @Test func allOfFewAreTimed() {
    let samples = Self.samples(of: 1_000, nanoseconds: 10_000_000)
    // Except the first.
    #expect(samples.first == 63)
    #expect(samples.count > 500)
    #expect(samples.suffix(100) == Array(900..<1_000)[...])
  }

  @Test func pausesHaveLittleWeight() {
    let samples = Guarded<Int>(0)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      var found = 0
      var time: Int64 = 1_000_000_000
      for _ in 0..<200 {
        for _ in 0..<1_000 {
          time += 100
          if cplatform_is_sample(1) != 0 {
            found += 1
            cplatform_did_sample(1, time)
          }
        }
        time += 1_000_000_000
      }
      let all = found
      samples { $0 = all }
      done.signal()
    }
    done.wait()
    // Rate 1 in 1,024 gives 195; timing each burst's first dozen would give more than 2,400.
    #expect((100...1_200).contains(samples.current), "\(samples.current)")
  }
}
