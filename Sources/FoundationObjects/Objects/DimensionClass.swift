#if !canImport(Darwin)
  package import Foundation

  /// A class of units.
  // Unchecked: the units are constants of Foundation's, which nobody changes.
  package struct DimensionClass: @unchecked Sendable {
    package let type: Dimension.Type
    /// Units whose converter Foundation keeps to itself, which their symbol stands for.
    package let known: [Dimension]

    private init(_ type: Dimension.Type, known: [Dimension] = []) {
      self.type = type
      self.known = known
    }

    package static let all: [DimensionClass] =
      plain.map { DimensionClass($0) } + [
        DimensionClass(
          UnitFuelEfficiency.self,
          known: [
            UnitFuelEfficiency.litersPer100Kilometers, UnitFuelEfficiency.milesPerGallon,
            UnitFuelEfficiency.milesPerImperialGallon,
          ])
      ]

    private static let plain: [Dimension.Type] = [
      Dimension.self, UnitAcceleration.self, UnitAngle.self, UnitArea.self, UnitConcentrationMass.self,
      UnitDispersion.self, UnitDuration.self, UnitElectricCharge.self, UnitElectricCurrent.self,
      UnitElectricPotentialDifference.self, UnitElectricResistance.self, UnitEnergy.self, UnitFrequency.self,
      UnitIlluminance.self, UnitInformationStorage.self, UnitLength.self, UnitMass.self, UnitPower.self,
      UnitPressure.self, UnitSpeed.self, UnitTemperature.self, UnitVolume.self,
    ]
  }
#endif
