/// The outcome of a goal.
public struct Judgement: Encodable, Equatable, Sendable {
  public let goal: String
  public let bound: Bound
  /// nil if one of the subjects was not measured.
  public let measured: Double?

  public init(goal: String, bound: Bound, measured: Double?) {
    self.goal = goal
    self.bound = bound
    self.measured = measured
  }

  public var isReached: Bool { measured.map(bound.isReached) ?? false }

  private enum CodingKeys: CodingKey { case goal, asked, measured, isReached }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(goal, forKey: .goal)
    try container.encode(bound.asked, forKey: .asked)
    try container.encode(measured, forKey: .measured)
    try container.encode(isReached, forKey: .isReached)
  }

  public static func table(_ judgements: [Judgement]) -> String {
    let rows = judgements.map { judgement in
      [
        judgement.goal, judgement.bound.asked,
        judgement.measured.map(judgement.bound.text) ?? "–",
        judgement.measured == nil ? "not measured" : judgement.isReached ? "reached" : "missed",
      ]
    }
    let reached = judgements.count { $0.isReached }
    return "\nGoals: \(reached) of \(judgements.count) reached\n"
      + Table.lines([["", "asked", "measured", ""]] + rows)
  }
}
