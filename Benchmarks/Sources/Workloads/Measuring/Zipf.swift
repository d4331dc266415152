import Foundation

/// Draws numbers below a count with probability `1 / rank ^ exponent`. The ranks are shuffled over the numbers.
struct Zipf {
  /// The probability of this rank or a lower one.
  private let cumulative: [Double]
  private let numbers: [UInt32]

  init(count: Int, exponent: Double, using random: inout SplitMix) {
    var sum = 0.0
    let sums = (1...count).map { rank in
      sum += pow(Double(rank), -exponent)
      return sum
    }
    cumulative = sums.map { $0 / sum }
    numbers = (0..<UInt32(count)).shuffled(using: &random)
  }

  func draw(using random: inout SplitMix) -> Int {
    let chance = Double.random(in: 0..<1, using: &random)
    var low = 0
    var high = cumulative.count - 1
    while low < high {
      let middle = (low + high) / 2
      if cumulative[middle] < chance { low = middle + 1 } else { high = middle }
    }
    return Int(numbers[low])
  }
}
